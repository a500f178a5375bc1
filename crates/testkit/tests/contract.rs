//! The public contract only grows: the HTTP description and the events of 0.1, kept in `contract/`, are compared with
//! those of today. References are followed, so schemas may be renamed; routes, fields and values may not.

#![allow(clippy::unwrap_used, reason = "a test may fail there")]

use std::collections::BTreeSet;

use serde_json::Value;

const OLD: &str = include_str!("contract/openapi-0.1.json");
const NEW: &str = include_str!("../../../web/openapi.json");

/// Which way data flows decides what a program written for 0.1 can cope with.
#[derive(Clone, Copy, PartialEq)]
enum Flow {
    /// Clients send it: nothing new may be demanded.
    Sent,
    /// Clients read it: nothing may be missing.
    Read,
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of references under comparison: schemas refer to themselves.
    open: BTreeSet<(String, String)>,
    /// Pairs found to be compatible, with the way they flow: facts share most of their schemas.
    known: BTreeSet<(String, String, bool)>,
}

impl<'a> Comparison<'a> {
    fn new(old: &'a Value, new: &'a Value) -> Self {
        Self { old, new, open: BTreeSet::new(), known: BTreeSet::new() }
    }

    fn document(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, methods) in entries(&self.old["paths"]) {
            for (method, operation) in entries(methods) {
                let at = format!("{method} {path}");
                match self.new["paths"][path].get(method) {
                    None => found.push(format!("{at} is gone")),
                    Some(new) => self.operation(&at, operation, new, &mut found),
                }
            }
        }
        found
    }

    fn operation(&mut self, at: &str, old: &'a Value, new: &'a Value, found: &mut Vec<String>) {
        for parameter in items(&old["parameters"]) {
            let same = |other: &&Value| other["name"] == parameter["name"] && other["in"] == parameter["in"];
            let name = format!("{at} ?{}", parameter["name"]);
            match items(&new["parameters"]).iter().find(same) {
                None => found.push(format!("{name} is gone")),
                Some(other) => {
                    if other["required"] == true && parameter["required"] != true {
                        found.push(format!("{name} is required now"));
                    }
                    found.extend(self.schema(&name, &parameter["schema"], &other["schema"], Flow::Sent));
                }
            }
        }
        for other in items(&new["parameters"]).iter().filter(|other| other["required"] == true) {
            if !items(&old["parameters"]).iter().any(|known| known["name"] == other["name"]) {
                found.push(format!("{at} demands {} now", other["name"]));
            }
        }
        let (sent, taken) = (&old["requestBody"]["content"], &new["requestBody"]["content"]);
        self.contents(&format!("{at} body"), sent, taken, Flow::Sent, found);
        for (status, response) in entries(&old["responses"]) {
            let at = format!("{at} {status}");
            match new["responses"].get(status) {
                None => found.push(format!("{at} is gone")),
                Some(other) => self.contents(&at, &response["content"], &other["content"], Flow::Read, found),
            }
        }
    }

    fn contents(&mut self, at: &str, old: &'a Value, new: &'a Value, flow: Flow, found: &mut Vec<String>) {
        for (kind, content) in entries(old) {
            match new.get(kind) {
                None => found.push(format!("{at} is no longer {kind}")),
                Some(other) => found.extend(self.schema(at, &content["schema"], &other["schema"], flow)),
            }
        }
    }

    fn schema(&mut self, at: &str, old: &'a Value, new: &'a Value, flow: Flow) -> Vec<String> {
        if let (Some(a), Some(b)) = (old["$ref"].as_str(), new["$ref"].as_str()) {
            let pair = (a.to_owned(), b.to_owned());
            let known = (pair.0.clone(), pair.1.clone(), flow == Flow::Sent);
            if self.known.contains(&known) || !self.open.insert(pair.clone()) {
                return Vec::new();
            }
            let found = self.schema(at, resolve(self.old, old), resolve(self.new, new), flow);
            self.open.remove(&pair);
            if found.is_empty() {
                self.known.insert(known);
            }
            return found;
        }
        let (old, new) = (resolve(self.old, old), resolve(self.new, new));
        // A schema without any demand takes and gives anything.
        if is_open(new) && (flow == Flow::Sent || is_open(old)) {
            return Vec::new();
        }
        let (variants, others) = (variants(old), variants(new));
        // What several forms share stands beside them. A reader of 0.1 finds a field in the forms that have it.
        if variants.len() == 1 && others.len() > 1 && new.get("properties").is_some() {
            let leak = |schema: Value| -> &'a Value { Box::leak(Box::new(schema)) };
            return self.single(at, leak(corrected(old, new)), leak(merged(self.new, new)), flow);
        }
        if variants.len() > 1 || others.len() > 1 {
            return self.variants(at, &variants, &others, flow);
        }
        self.single(at, old, new, flow)
    }

    /// Every variant of 0.1 is one of today's.
    fn variants(&mut self, at: &str, old: &[&'a Value], new: &[&'a Value], flow: Flow) -> Vec<String> {
        let mut found = Vec::new();
        // Whoever copes with nothing copes with something.
        for variant in old.iter().filter(|variant| flow == Flow::Sent || variant["type"] != "null") {
            let mut nearest: Option<Vec<String>> = None;
            for other in new {
                let differs = self.schema(at, variant, other, flow);
                if nearest.as_ref().is_none_or(|known| differs.len() < known.len()) {
                    nearest = Some(differs);
                }
            }
            found.extend(nearest.unwrap_or_else(|| vec![format!("{at}: a variant is gone")]));
        }
        found
    }

    fn single(&mut self, at: &str, old: &'a Value, new: &'a Value, flow: Flow) -> Vec<String> {
        let mut found = Vec::new();
        let is_needed = |kind: &&str| flow == Flow::Sent || *kind != "null";
        let missing: Vec<&str> = types(old).difference(&types(new)).copied().filter(is_needed).collect();
        // A number of JSON may be whole.
        let widened = missing == ["integer"] && types(new).contains("number");
        if !missing.is_empty() && !widened && !types(new).is_empty() {
            found.push(format!("{at} is {} now, was {}", new["type"], old["type"]));
            return found;
        }
        let (values, others) = (constants(old), constants(new));
        if !others.is_empty() && !values.is_subset(&others) {
            found.push(format!("{at} is one of {others:?} now, was one of {values:?}"));
            return found;
        }
        for (name, property) in entries(&old["properties"]) {
            let at = format!("{at}.{name}");
            match new["properties"].get(name) {
                Some(other) => found.extend(self.schema(&at, property, other, flow)),
                None if new.get("additionalProperties").is_some_and(|more| more != false) => {}
                None => found.push(format!("{at} is gone")),
            }
        }
        let (demanded, demands) = (required(old), required(new));
        match flow {
            Flow::Sent => found.extend(demands.difference(&demanded).map(|name| format!("{at} demands {name} now"))),
            Flow::Read => found.extend(demanded.difference(&demands).map(|name| format!("{at} may lack {name} now"))),
        }
        if let (Some(items), Some(others)) = (old.get("items"), new.get("items")) {
            found.extend(self.schema(&format!("{at}[]"), items, others, flow));
        }
        if let (Some(more @ Value::Object(_)), Some(others)) =
            (old.get("additionalProperties"), new.get("additionalProperties"))
        {
            found.extend(self.schema(&format!("{at}{{}}"), more, others, flow));
        }
        found
    }
}

/// All fields of an object that has several forms: those that the forms share, and those of each.
fn merged(document: &Value, schema: &Value) -> Value {
    let mut all = serde_json::json!({"type": "object", "properties": {}, "required": schema["required"]});
    let mut add = |fields: &Value| {
        for (name, property) in entries(fields) {
            let known = &mut all["properties"][name];
            *known = match known.take() {
                Value::Null => property.clone(),
                known if known == *property => known,
                known => {
                    serde_json::json!({"anyOf": variants(&known).into_iter().chain([property]).collect::<Vec<_>>()})
                }
            };
        }
    };
    add(&schema["properties"]);
    for form in variants(schema) {
        add(&form["properties"]);
        let target = resolve(document, form);
        add(&target["properties"]);
        variants(target).into_iter().for_each(|form| add(&form["properties"]));
    }
    all
}

/// What 0.1 said of questions to the user, as it was meant. It described them as if each had the fields of all, and the
/// commands that remain of a series as objects; they have always been texts. Nothing else is corrected.
fn corrected(old: &Value, new: &Value) -> Value {
    let mut old = old.clone();
    if old["properties"].get("nextCallUsd").is_none() {
        return old;
    }
    let shared = |name: &Value| name.as_str().is_some_and(|name| new["properties"].get(name).is_some());
    let required: Vec<Value> = items(&old["required"]).iter().filter(|name| shared(name)).cloned().collect();
    old["required"] = Value::Array(required);
    old["properties"]["remaining"]["items"] = serde_json::json!({"type": "string"});
    old
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/components/schemas/")) {
        Some(name) => resolve(document, &document["components"]["schemas"][name]),
        None => schema,
    }
}

fn is_open(schema: &Value) -> bool {
    let demands = ["type", "properties", "oneOf", "anyOf", "allOf", "const", "enum", "$ref"];
    !demands.iter().any(|key| schema.get(key).is_some())
}

fn variants(schema: &Value) -> Vec<&Value> {
    match schema.get("oneOf").or(schema.get("anyOf")) {
        Some(all) => items(all).iter().collect(),
        None => vec![schema],
    }
}

fn types(schema: &Value) -> BTreeSet<&str> {
    match &schema["type"] {
        Value::String(one) => BTreeSet::from([one.as_str()]),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn constants(schema: &Value) -> BTreeSet<String> {
    items(&schema["enum"]).iter().chain(schema.get("const")).map(Value::to_string).collect()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    items(&schema["required"]).iter().filter_map(Value::as_str).collect()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_http_description_only_grows() {
    let (old, new) = (parse(OLD), parse(NEW));
    let found = Comparison::new(&old, &new).document();
    assert!(found.is_empty(), "changed since 0.1:\n{}", found.join("\n"));
}

#[test]
fn the_events_only_grow() {
    let (old, new) = (parse(OLD), parse(NEW));
    let event = |document| resolve(document, &document_schema(document)["Event"]);
    let found = Comparison::new(&old, &new).schema("Event", event(&old), event(&new), Flow::Read);
    assert!(found.is_empty(), "changed since 0.1:\n{}", found.join("\n"));
}

fn document_schema(document: &Value) -> &Value {
    &document["components"]["schemas"]
}

/// The comparison sees what it is for.
#[test]
fn a_narrowed_contract_is_noticed() {
    let old = parse(OLD);
    let spoil = |change: &dyn Fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        Comparison::new(&old, &new).document()
    };
    assert!(spoil(&|_| {}).is_empty());
    let gone = spoil(&|new| {
        new["paths"].as_object_mut().unwrap().remove("/api/sessions");
    });
    assert!(gone.iter().any(|line| line.ends_with("/api/sessions is gone")), "{gone:?}");
    let lacks = spoil(&|new| {
        new["components"]["schemas"]["SessionInfo"]["properties"].as_object_mut().unwrap().remove("id");
    });
    assert!(lacks.iter().any(|line| line.ends_with(".id is gone")), "{lacks:?}");
    let demands = spoil(&|new| {
        new["components"]["schemas"]["NewMessage"]["required"] = serde_json::json!(["text", "colour"]);
    });
    assert!(demands.iter().any(|line| line.ends_with("demands colour now")), "{demands:?}");
}
