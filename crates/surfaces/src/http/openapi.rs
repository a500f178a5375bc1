//! Routes that describe themselves: whoever adds one says what it takes and gives, and
//! `/api/openapi.json` says the same, from the types that are really read and written.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::MethodRouter;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::Shared;
use super::failure::ErrorBody;

/// The routes of the API, and their description.
pub(super) struct Api {
    router: Router<Shared>,
    paths: Map<String, Value>,
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

/// Answers that any route may give, and why.
const COMMON: [(u16, &str); 9] = [
    (400, "The request cannot be read."),
    (401, "Missing or invalid credentials."),
    (403, "The request comes from another page than the server's own."),
    (408, "The request came too slowly, or timed out."),
    (421, "The Host header does not match a known name of the server."),
    (422, "The request is not valid."),
    (429, "Too many requests."),
    (500, "Internal server error."),
    (503, "The data folder is not available, or the server is stopping."),
];

impl Api {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            router: Router::new(),
            paths: Map::new(),
            taken: settings().for_deserialize().into_generator(),
            given: settings().for_serialize().into_generator(),
        }
    }

    /// Adds a route; `path` begins after `/api`.
    pub(super) fn add(mut self, path: &str, handler: MethodRouter<Shared>, operations: Vec<RouteOperation>) -> Self {
        for operation in operations {
            let method = operation.method;
            let described = operation.describe(&mut self.taken, &mut self.given, path);
            let entry = self.paths.entry(format!("/api{path}")).or_insert_with(|| json!({}));
            entry[method] = described;
        }
        self.router = self.router.route(&format!("/api{path}"), handler);
        self
    }

    /// The router, and the description.
    pub(super) fn finish(mut self) -> (Router<Shared>, Value) {
        let error = json!(self.given.subschema_for::<ErrorBody>());
        let mut schemas = self.given.take_definitions(true);
        for (name, schema) in self.taken.take_definitions(true) {
            let known = schemas.entry(name.clone()).or_insert_with(|| schema.clone());
            // One name stands for one thing, whichever way it goes.
            debug_assert_eq!(*known, schema, "{name} is parsed differently from how it is described");
        }
        let answer = |(status, why): (u16, &str)| {
            let body = json!({"description": why, "content": {"application/json": {"schema": error}}});
            (format!("e{status}"), body)
        };
        let responses: Map<String, Value> = COMMON.into_iter().chain(SPECIAL).map(answer).collect();
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Trimtab", "version": env!("CARGO_PKG_VERSION"),
                "description": "The HTTP API of `trimtab serve`. Every error is `{\"error\":{\"code\",\"message\",\"hint\"}}`.",
                "license": {"name": env!("CARGO_PKG_LICENSE")},
            },
            "servers": [{"url": "/"}],
            "security": [{"token": []}, {"cookie": []}],
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "responses": responses,
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer", "description": "Made by `trimtab token add NAME`."},
                    "cookie": {"type": "apiKey", "in": "cookie", "name": format!("{}PORT", super::access::COOKIE),
                               "description": "Named after the server's port. Set when a browser logs in with the link that `trimtab serve` prints."},
                },
            },
        });
        (self.router, document)
    }
}

/// Answers that some routes give.
const SPECIAL: [(u16, &str); 5] = [
    (404, "Not found."),
    (409, "Not possible in the current state."),
    (413, "The request is too large."),
    (415, "The body is not JSON."),
    (502, "The model's provider failed."),
];

/// Describes a part of an operation once there is somewhere to put its types.
type Describe<T> = Box<dyn FnOnce(&mut SchemaGenerator) -> T>;

/// What one method of a route does.
pub(super) struct RouteOperation {
    method: &'static str,
    id: &'static str,
    summary: &'static str,
    group: &'static str,
    parameters: Vec<Describe<Vec<Value>>>,
    body: Option<Describe<Value>>,
    answers: Vec<(u16, Describe<Value>)>,
    errors: Vec<u16>,
}

impl RouteOperation {
    /// `id` names it for generated clients, `group` is the noun that it is about.
    pub(super) fn new(method: &'static str, id: &'static str, group: &'static str, summary: &'static str) -> Self {
        let (parameters, answers, errors) = (Vec::new(), Vec::new(), Vec::new());
        Self { method, id, summary, group, parameters, body: None, answers, errors }
    }

    /// A part of the path. What has no such name is not found.
    #[must_use]
    pub(super) fn path<T: JsonSchema>(mut self, name: &'static str, what: &'static str, example: &'static str) -> Self {
        self.parameters.push(Box::new(move |generator| {
            let schema = generator.subschema_for::<T>();
            let parameter = json!({"name": name, "in": "path", "required": true, "description": what,
                                   "schema": schema, "example": example});
            vec![parameter]
        }));
        self.fails(404)
    }

    /// The fields of `T`, after the `?`.
    #[must_use]
    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.parameters.push(Box::new(|generator| {
            let whole = json!(T::json_schema(generator));
            let required = whole["required"].as_array().cloned().unwrap_or_default();
            let fields = whole["properties"].as_object().cloned().unwrap_or_default();
            let parameter = |(name, mut schema): (String, Value)| {
                let what = schema.as_object_mut().and_then(|schema| schema.remove("description"));
                // What is absent is absent: there is no null after a `?`.
                if let Some(Value::Array(types)) = schema.get_mut("type") {
                    types.retain(|name| name != "null");
                }
                json!({"name": name, "in": "query", "required": required.contains(&json!(name)),
                       "description": what, "schema": schema})
            };
            fields.into_iter().map(parameter).collect()
        }));
        self
    }

    /// A header that may be sent.
    #[must_use]
    pub(super) fn header(mut self, name: &'static str, what: &'static str, schema: Value) -> Self {
        self.parameters.push(Box::new(move |_| {
            vec![json!({"name": name, "in": "header", "required": false, "description": what, "schema": schema})]
        }));
        self
    }

    /// What is sent, as JSON.
    #[must_use]
    pub(super) fn takes<T: JsonSchema>(mut self, example: Value) -> Self {
        self.body = Some(Box::new(move |generator| {
            let schema = generator.subschema_for::<T>();
            json!({"required": true, "content": {"application/json": {"schema": schema, "example": example}}})
        }));
        self.fails(413).fails(415)
    }

    /// What is given, as JSON.
    #[must_use]
    pub(super) fn gives<T: JsonSchema>(mut self, status: StatusCode, what: &'static str, example: Value) -> Self {
        let answer = Box::new(move |generator: &mut SchemaGenerator| {
            let mut schema = json!(generator.subschema_for::<T>());
            // What cannot be read at all is told in the common way, whatever else a route says about it.
            if status.is_client_error() {
                schema = json!({"anyOf": [schema, generator.subschema_for::<ErrorBody>()]});
            }
            json!({"description": what, "content": {"application/json": {"schema": schema, "example": example}}})
        });
        self.answers.push((status.as_u16(), answer));
        self
    }

    /// What is given in another form. A stream names the type of its pieces.
    #[must_use]
    pub(super) fn gives_other<T: JsonSchema>(
        mut self,
        status: StatusCode,
        what: &'static str,
        media_type: &'static str,
    ) -> Self {
        let answer = Box::new(move |generator: &mut SchemaGenerator| {
            let piece = generator.subschema_for::<T>();
            json!({"description": what,
                   "content": {media_type: {"schema": {}, "x-itemSchema": piece}}})
        });
        self.answers.push((status.as_u16(), answer));
        self
    }

    /// Nothing is given but that it was done.
    #[must_use]
    pub(super) fn gives_nothing(mut self, what: &'static str) -> Self {
        self.answers.push((204, Box::new(move |_| json!({"description": what}))));
        self
    }

    /// It may fail so, besides the ways in which any route may.
    #[must_use]
    pub(super) fn fails(mut self, status: u16) -> Self {
        if !self.errors.contains(&status) {
            self.errors.push(status);
        }
        self
    }

    fn describe(self, taken: &mut SchemaGenerator, given: &mut SchemaGenerator, path: &str) -> Value {
        let mut parameters: Vec<Value> = self.parameters.into_iter().flat_map(|of| of(taken)).collect();
        // Every variable of the path is described, or a client could not be generated.
        debug_assert!(path.split('{').skip(1).all(|rest| {
            let name = rest.split('}').next().unwrap_or_default();
            parameters.iter().any(|parameter| parameter["name"] == name && parameter["in"] == "path")
        }));
        let mut responses = Map::new();
        for (status, answer) in self.answers {
            responses.insert(status.to_string(), answer(given));
        }
        for status in COMMON.iter().map(|(status, _)| *status).chain(self.errors) {
            let named = json!({"$ref": format!("#/components/responses/e{status}")});
            responses.entry(status.to_string()).or_insert(named);
        }
        let mut described = json!({
            "operationId": self.id, "summary": self.summary, "tags": [self.group], "responses": responses,
        });
        if !parameters.is_empty() {
            described["parameters"] = Value::Array(std::mem::take(&mut parameters));
        }
        if let Some(body) = self.body {
            described["requestBody"] = body(taken);
        }
        described
    }
}
