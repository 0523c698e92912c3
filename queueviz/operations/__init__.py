"""Running the server: its environment, load, log and files; reaching it as a program does."""
