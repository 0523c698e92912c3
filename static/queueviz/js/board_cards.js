/* Cards of the Board: members whose subscriptions differ show their own subscription; a mark shows that another
   connection has its client id. */
import { Cards } from "./consumer_cards.js";
import { sameIdText, wordsText } from "./member_words.js";

export class BoardCards extends Cards {
  line(id, member, data, now, shorts) {
    const differ = data.header?.members_differ ?? [], there = ["running", "starting", "hung", "stopping"].includes(member.state);
    return [super.line(id, member, data, now, shorts), sameIdText(member), differ.length && there ? wordsText(member, differ) : ""].filter(Boolean).join(" · ");
  }
}
