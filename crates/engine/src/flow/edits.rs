//! The user's own edits of a plan: the whole list again, or single operations.
//!
//! ```json
//! [{"id":"s1"}, {"title":"A new step"}]
//! {"steps":[…],"summary":"…"}
//! [{"op":"reorder","order":["s2","s1"]}, {"op":"remove","step":"s3"},
//!  {"op":"add","after":"s1","title":"…"}, {"op":"edit","step":"s2","details":"…"}]
//! ```

use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::wording::Objection;
use trimtab_vocab::{Plan, PlanStep};

use crate::proposal::plan::{self, MOST_STEPS, StepFields, StepIds, StepName};

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum PlanEdit {
    Reorder {
        order: Vec<StepName>,
    },
    Remove {
        step: StepName,
    },
    Add {
        #[serde(default)]
        after: Option<StepName>,
        #[serde(flatten)]
        fields: Box<StepFields>,
    },
    Edit {
        step: StepName,
        #[serde(flatten)]
        fields: Box<StepFields>,
    },
}

/// The plan as edited, or why it cannot be edited so.
pub(super) fn apply(plan: &Plan, text: &str) -> Result<Plan, Objection> {
    let value: Value = serde_json::from_str(text).map_err(|error| Objection::EditsNotJson(error.to_string()))?;
    let is_operation = |item: &Value| item.get("op").is_some();
    let operations = match &value {
        Value::Object(fields) if fields.contains_key("op") => Some(vec![value.clone()]),
        Value::Object(fields) => match fields.get("operations") {
            Some(Value::Array(items)) => Some(items.clone()),
            _ => None,
        },
        Value::Array(items) if items.iter().any(is_operation) => Some(items.clone()),
        _ => None,
    };
    match operations {
        Some(operations) if operations.len() > 4 * MOST_STEPS => Err(Objection::TooManyEdits),
        Some(operations) => operations.into_iter().try_fold(plan.clone(), one),
        None => whole(plan, value),
    }
}

/// The whole list. A step that is only named stays as it is; what is written of it replaces what was there.
fn whole(plan: &Plan, value: Value) -> Result<Plan, Objection> {
    let mut given = match value {
        Value::Array(steps) => json!({ "steps": steps }),
        other => other,
    };
    for step in given.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        let id = step.get("id").and_then(Value::as_str);
        let (Some(known), Some(fields)) =
            (id.and_then(|id| plan.steps.iter().find(|step| step.id == id)), step.as_object().cloned())
        else {
            continue;
        };
        let mut merged = json!(known);
        if let Some(merged) = merged.as_object_mut() {
            merged.extend(fields);
        }
        *step = merged;
    }
    // What is no longer in the list cannot be waited for.
    let ids: Vec<String> = given
        .get("steps")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|step| Some(step.get("id")?.as_str()?.to_owned()))
        .collect();
    let gone = |name: &Value| {
        let was = name.as_str().is_some_and(|name| plan.steps.iter().any(|step| step.id == name));
        was && !ids.iter().any(|id| Some(id.as_str()) == name.as_str())
    };
    for step in given.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(names) = step.get_mut("dependsOn").and_then(Value::as_array_mut) {
            names.retain(|name| !gone(name));
        }
    }
    let mut edited = plan::read(&given, &plan.steps).map_err(Objection::BadPlan)?;
    if given.get("summary").is_none() {
        edited.summary.clone_from(&plan.summary);
    }
    if given.get("assumptions").is_none() {
        edited.assumptions.clone_from(&plan.assumptions);
    }
    in_order(&edited)?;
    Ok(edited)
}

fn one(mut plan: Plan, operation: Value) -> Result<Plan, Objection> {
    let told = operation.to_string();
    let operation: PlanEdit =
        serde_json::from_value(operation).map_err(|error| Objection::BadEdit(told, error.to_string()))?;
    match operation {
        PlanEdit::Reorder { order } => {
            let mut places = Vec::with_capacity(order.len());
            for name in &order {
                places.push(place(&plan, name)?);
            }
            let mut sorted = places.clone();
            sorted.sort_unstable();
            if sorted != (0..plan.steps.len()).collect::<Vec<_>>() {
                return Err(Objection::BadOrder);
            }
            plan.steps = places.into_iter().map(|place| plan.steps[place].clone()).collect();
            in_order(&plan)?;
        }
        PlanEdit::Remove { step } => {
            let removed = plan.steps.remove(place(&plan, &step)?);
            for step in &mut plan.steps {
                step.depends_on.retain(|id| *id != removed.id);
            }
            if plan.steps.is_empty() {
                return Err(Objection::NoStepsLeft);
            }
        }
        PlanEdit::Add { after, fields } => {
            if plan.steps.len() >= MOST_STEPS {
                return Err(Objection::TooManySteps(MOST_STEPS));
            }
            let at = match after {
                Some(name) => place(&plan, &name)? + 1,
                None => plan.steps.len(),
            };
            let mut step = PlanStep { id: StepIds::beyond(&plan.steps).next(), ..PlanStep::default() };
            plan::fill(&mut step, &fields).map_err(Objection::BadNewStep)?;
            step.depends_on = depends_on(&plan, &fields)?.unwrap_or_default();
            plan.steps.insert(at, step);
        }
        PlanEdit::Edit { step, fields } => {
            let at = place(&plan, &step)?;
            let waits_for = depends_on(&plan, &fields)?;
            let step = &mut plan.steps[at];
            plan::fill(step, &fields).map_err(Objection::BadStep)?;
            step.depends_on = waits_for.unwrap_or_else(|| step.depends_on.clone());
        }
    }
    plan::order(&plan).map_err(Objection::Words)?;
    Ok(plan)
}

/// The place of the step that is meant: by its id, its number in the list, or its title.
fn place(plan: &Plan, name: &StepName) -> Result<usize, Objection> {
    let text = name.text();
    let by_id = plan.steps.iter().position(|step| step.id == text);
    by_id.or_else(|| plan::by_place(&text, &plan.steps)).ok_or(Objection::NoSuchStep(text))
}

fn depends_on(plan: &Plan, fields: &StepFields) -> Result<Option<Vec<String>>, Objection> {
    let Some(names) = &fields.depends_on else { return Ok(None) };
    let id = |name: &StepName| place(plan, name).map(|at| plan.steps[at].id.clone());
    names.iter().map(id).collect::<Result<Vec<_>, _>>().map(Some)
}

/// A user who puts one step before another means it: an order that cannot be kept is refused, not improved.
fn in_order(plan: &Plan) -> Result<(), Objection> {
    for (at, step) in plan.steps.iter().enumerate() {
        let later = plan.steps[at..].iter().find(|other| step.depends_on.contains(&other.id));
        if let Some(later) = later {
            return Err(Objection::OutOfOrder(step.title.clone(), later.title.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        plan::read(
            &json!({"summary": "sum", "steps": ["a", "b", {"title": "c", "details": "how", "dependsOn": [1]}]}),
            &[],
        )
        .expect("a plan")
    }

    /// The steps of the edited plan: id, title, what it depends on.
    fn edited(edits: Value) -> Result<Vec<String>, String> {
        let shown = |step: &PlanStep| format!("{} {} {}", step.id, step.title, step.depends_on.join(","));
        apply(&plan(), &edits.to_string())
            .map(|plan| plan.steps.iter().map(|step| shown(step).trim_end().to_owned()).collect())
            .map_err(String::from)
    }

    #[test]
    fn a_list_says_what_the_plan_shall_be() {
        let steps = edited(json!([{"id": "s2"}, {"title": "new"}, {"id": "s3", "title": "c2"}]));
        assert_eq!(steps.expect("edited"), ["s2 b", "s4 new", "s3 c2"], "what is gone is not waited for");
        let steps = edited(json!({"steps": ["x", {"title": "y", "dependsOn": [1]}]}));
        assert_eq!(steps.expect("edited"), ["s4 x", "s5 y s4"]);
        let whole = apply(&plan(), &json!([{"id": "s3", "dependsOn": []}]).to_string()).expect("edited");
        assert_eq!((whole.summary.as_str(), whole.steps[0].details.as_str()), ("sum", "how"));
    }

    #[test]
    fn operations_are_made_one_after_the_other() {
        let steps = edited(json!([
            {"op": "remove", "step": "s1"},
            {"op": "add", "after": "s2", "title": "d", "dependsOn": ["s2"]},
            {"op": "edit", "step": "d", "title": "D", "commands": ["make"]},
            {"op": "reorder", "order": ["s3", "s2", "s4"]},
        ]));
        assert_eq!(steps.expect("edited"), ["s3 c", "s2 b", "s4 D s2"]);
        assert_eq!(edited(json!({"op": "remove", "step": 2})).expect("edited"), ["s1 a", "s3 c s1"]);
    }

    #[test]
    fn what_cannot_be_is_refused_whole() {
        for (edits, wanted) in [
            (json!([{"op": "remove", "step": "s9"}]), "no step"),
            (json!([{"op": "reorder", "order": ["s1"]}]), "every step once"),
            (json!([{"op": "reorder", "order": ["s3", "s1", "s2"]}]), "cannot come before"),
            (json!([{"op": "edit", "step": "s1", "dependsOn": ["s3"]}]), "wait for each other"),
            (json!([{"op": "burn", "step": "s1"}]), "Invalid edit"),
            (json!([{"id": "s3"}, {"id": "s1"}]), "cannot come before"),
            (json!([]), "no steps"),
            (json!(7), "Invalid plan"),
        ] {
            let wrong = edited(edits.clone()).expect_err("refused");
            assert!(wrong.contains(wanted), "{edits}: {wrong}");
        }
    }
}
