//! The user's rules and trusted folders, and their removal. Prompts and the command line add them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_vocab::{Rule, RuleVerdict};

use super::Shared;
use super::access::Authenticated;
use super::extract::JsonBody;
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};

pub(super) fn routes(api: Api) -> Api {
    let rule =
        json!({"verdict": "allow", "tool": "run_command", "pattern": "cargo test *", "folder": "/home/me/project"});
    let list = RouteOperation::new("get", "listRules", "about", "List your rules and trusted folders")
        .gives::<RuleList>(
            StatusCode::OK,
            "The rules, and the folders that you trust.",
            json!({"rules": [{"rule": rule, "restricts": false}], "folders": [{"folder": "/home/me/project"}]}),
        );
    let remove = RouteOperation::new("post", "removeRule", "about", "Remove a rule")
        .takes::<RuleRemoval>(json!({"rule": rule}))
        .gives::<RuleList>(
            StatusCode::OK,
            "What is left. Removing a rule that denies or asks answers 409 with the code `confirm`, and needs the code that `trimtab serve` prints.",
            json!({"rules": [], "folders": []}),
        )
        .fails(404)
        .fails(409);
    let distrust = RouteOperation::new("post", "removeTrust", "about", "Stop trusting a folder")
        .takes::<TrustRemoval>(json!({"folder": "/home/me/project"}))
        .gives::<RuleList>(StatusCode::OK, "What is left.", json!({"rules": [], "folders": []}))
        .fails(404)
        .fails(409);
    api.add("/rules", get(list_rules), vec![list]).add("/rules/remove", post(remove_rule), vec![remove]).add(
        "/trust/remove",
        post(remove_trust),
        vec![distrust],
    )
}

#[derive(Debug, Serialize, JsonSchema)]
struct RuleList {
    rules: Vec<ListedRule>,
    folders: Vec<TrustedFolder>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedRule {
    rule: Rule,
    /// It denies or asks, so that removing it makes Trimtab less strict.
    restricts: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TrustedFolder {
    folder: String,
    /// It is in the setting `folders.trusted`, and removed there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    setting: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleRemoval {
    rule: Rule,
    /// The code that `trimtab serve` printed for this change.
    code: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TrustRemoval {
    folder: String,
}

async fn list_rules(State(server): State<Shared>) -> Result<Json<RuleList>, Failure> {
    let all = server.client.permissions().rules().await?;
    let (trust, rules): (Vec<Rule>, Vec<Rule>) = all.into_iter().partition(|rule| rule.tool == Rule::TRUST);
    let rules = rules.into_iter().map(|rule| ListedRule { restricts: restricts(&rule), rule }).collect();
    let given = trust.into_iter().filter(|rule| rule.verdict == RuleVerdict::Allow).filter_map(|rule| rule.folder);
    let mut folders: Vec<TrustedFolder> = given.map(|folder| TrustedFolder { folder, setting: false }).collect();
    let set = server.profile().hands.trusted.clone();
    folders.extend(set.into_iter().map(|folder| TrustedFolder { folder, setting: true }));
    Ok(Json(RuleList { rules, folders }))
}

fn restricts(rule: &Rule) -> bool {
    rule.verdict != RuleVerdict::Allow
}

async fn remove_rule(
    State(server): State<Shared>,
    Extension(who): Extension<Authenticated>,
    JsonBody(RuleRemoval { rule, code }): JsonBody<RuleRemoval>,
) -> Result<Json<RuleList>, Failure> {
    if !server.client.permissions().rules().await?.contains(&rule) {
        return Err(Failure::not_found("There is no such rule any longer."));
    }
    if restricts(&rule) {
        server.confirmations.check(&who, &format!("remove the rule \"{rule}\""), code.as_deref())?;
    }
    server.client.permissions().change_rule(&rule, false).await?;
    list_rules(State(server)).await
}

async fn remove_trust(
    State(server): State<Shared>,
    JsonBody(TrustRemoval { folder }): JsonBody<TrustRemoval>,
) -> Result<Json<RuleList>, Failure> {
    let permissions = server.client.permissions();
    let is_here = |rule: &Rule| rule.tool == Rule::TRUST && rule.folder.as_deref() == Some(folder.as_str());
    if !permissions.rules().await?.iter().any(is_here) {
        return Err(Failure::not_found(format!("No rule trusts the folder {folder}."))
            .hint("If it is in the setting folders.trusted, change the setting."));
    }
    permissions.distrust(&folder).await?;
    list_rules(State(server)).await
}
