"""Conversion of form fields to plain dictionaries for `control`.

Values stay text: `control.fields` has the types.
"""

from django.utils.datastructures import MultiValueDict

from sandbox.kernel.errors import ActionRefused

NOT_FIELDS = frozenset({"csrfmiddlewaretoken"})
LIST_MARK = "[]"  # `queues[]` is a list even with one box ticked
KEY_MARK = "."  # `queues_by_member.A` is what A has in the object `queues_by_member`


def fields_of(form: MultiValueDict[str, str]) -> dict[str, object]:
    """Return the fields of a form as a dictionary.

    `queues=a&queues=b` and `queues[]=a` → list, `lists.A=a` → object, any other field one text (which may hold
    JSON).  An empty field is left out, so the engine uses its default.  Raises ActionRefused (422) for a field that
    is sent in two of these ways.
    """
    fields: dict[str, object] = {}
    for name in form:
        if name in NOT_FIELDS:
            continue
        values = form.getlist(name)
        field, marked, key = name.partition(KEY_MARK)
        if name.endswith(LIST_MARK):
            _put(fields, name.removesuffix(LIST_MARK), [value for value in values if value])
        elif marked:
            if values[-1] != "":
                held = fields.get(field)
                _put(fields, field, {**held, key: values[-1]} if isinstance(held, dict) else {key: values[-1]})
        elif len(values) > 1:
            _put(fields, name, [value for value in values if value])
        elif values[0] != "":
            _put(fields, name, values[0])
    return fields


def _put(fields: dict[str, object], field: str, value: str | list[str] | dict[str, str]) -> None:
    if field in fields and not (isinstance(fields[field], dict) and isinstance(value, dict)):
        raise ActionRefused(
            422, "{field} is sent in two forms.", "Send the field as one text, as a list, or key by key.", field=field
        )
    fields[field] = value
