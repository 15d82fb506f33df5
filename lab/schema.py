#!/usr/bin/env python3
"""Writes docs/lab-run.schema.json from crates/lab/src/evidence.rs: run it after a field is added there.

The evidence is plain data with doc comments; this reads its structs and enums line by line. A test of crate `lab`
holds the file to the source.
"""
import json
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
source = (root / "crates/lab/src/evidence.rs").read_text().split("#[cfg(test)]")[0]

PLAIN = {"String": "string", "bool": "boolean", "f64": "number"}


def form(rust):
    """The schema of a Rust type."""
    rust = rust.strip()
    if rust in PLAIN:
        return {"type": PLAIN[rust]}
    if re.fullmatch(r"[ui](8|16|32|64|size)", rust):
        return {"type": "integer"}
    if inner := re.fullmatch(r"Option<(.*)>", rust):
        return {"anyOf": [form(inner[1]), {"type": "null"}]}
    if inner := re.fullmatch(r"Vec<(.*)>", rust):
        return {"type": "array", "items": form(inner[1])}
    if inner := re.fullmatch(r"BTreeMap<[^,]*, (.*)>", rust):
        return {"type": "object", "additionalProperties": form(inner[1])}
    if inner := re.fullmatch(r"\((.*)\)", rust):
        parts = [form(part) for part in inner[1].split(",")]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    return {"$ref": f"#/$defs/{rust}"}


def renamed(name, rule):
    if rule == "lowercase":
        return name.lower()
    joint = "-" if rule == "kebab-case" else "_"
    return re.sub(r"(?<!^)(?=[A-Z])", joint, name).lower()


defs = {}
doc, rule, owner, kind = [], "", None, None
for line in source.splitlines():
    text = line.strip()
    if text.startswith("///"):
        doc.append(text[3:].strip())
    elif match := re.match(r'#\[serde\(rename_all = "(.*)"\)\]', text):
        rule = match[1]
    elif match := re.match(r"pub (struct|enum) (\w+) \{", text):
        kind, owner = match[1], match[2]
        said = " ".join(doc)
        if kind == "struct":
            defs[owner] = {"type": "object", "description": said, "properties": {}}
        else:
            defs[owner] = {"description": said, "enum": []}
        doc = []
    elif text == "}" and line == "}":
        owner, kind, rule, doc = None, None, "", []
    elif owner and kind == "struct" and (match := re.match(r"pub (\w+): (.*),$", text)):
        defs[owner]["properties"][match[1]] = form(match[2]) | {"description": " ".join(doc)}
        doc = []
    elif owner and kind == "enum" and (match := re.match(r"(\w+),$", text)):
        defs[owner]["enum"].append(renamed(match[1], rule))
        doc = []
    elif not text.startswith("#["):
        doc = []

run = defs.pop("Run")
schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A run of invar lab",
    **run,
    "required": ["schema_version"],
    "$defs": defs,
}
path = root / "docs/lab-run.schema.json"
path.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
print(path, len(schema["properties"]), "fields,", len(defs), "types")
