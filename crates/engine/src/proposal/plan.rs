//! Parses plans of models and users, and puts them into order.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::{Plan, PlanStep};

/// Steps of a plan at most.
pub(crate) const MOST_STEPS: usize = 40;
/// Bytes of a plan at most: the user is to read it.
const LARGEST: usize = 64 * 1024;

/// A plan as a model or the user writes it.
#[derive(Deserialize)]
struct WrittenPlan {
    #[serde(default, alias = "goal", alias = "title")]
    summary: Option<String>,
    steps: Vec<WrittenStep>,
    #[serde(default)]
    assumptions: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenStep {
    Words(String),
    Whole(Box<StepFields>),
}

/// The fields of a step, with the names that weak models use.
#[derive(Deserialize, Default)]
pub(crate) struct StepFields {
    #[serde(default)]
    pub(crate) id: Option<StepName>,
    #[serde(default, alias = "text", alias = "name", alias = "step")]
    pub(crate) title: Option<String>,
    #[serde(default, alias = "description")]
    pub(crate) details: Option<String>,
    #[serde(default)]
    pub(crate) files: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) commands: Option<Vec<String>>,
    #[serde(default, rename = "dependsOn", alias = "depends_on", alias = "dependencies")]
    pub(crate) depends_on: Option<Vec<StepName>>,
    #[serde(default)]
    pub(crate) estimate: Option<StepName>,
}

/// A name or a number.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(untagged)]
pub(crate) enum StepName {
    Number(u64),
    Fraction(f64),
    Words(String),
}

impl StepName {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Fraction(number) => number.to_string(),
            Self::Words(words) => words.trim().to_owned(),
        }
    }
}

/// Parses a plan; the error helps the model to do better. `known` are steps that keep their IDs.
pub(crate) fn read(value: &Value, known: &[PlanStep]) -> Result<Plan, String> {
    let written: WrittenPlan = serde_json::from_value(value.clone()).map_err(|error| format!("{error}."))?;
    if written.steps.is_empty() {
        return Err("the plan has no steps.".into());
    }
    if written.steps.len() > MOST_STEPS {
        return Err(format!("{} steps are too many; {MOST_STEPS} at most.", written.steps.len()));
    }
    let fields: Vec<StepFields> = written
        .steps
        .into_iter()
        .map(|step| match step {
            WrittenStep::Words(title) => StepFields { title: Some(title), ..StepFields::default() },
            WrittenStep::Whole(fields) => *fields,
        })
        .collect();
    let mut ids = StepIds::beyond(known);
    let named = |fields: &StepFields| fields.id.as_ref().map(StepName::text);
    let kept = |fields: &StepFields| named(fields).filter(|id| known.iter().any(|step| step.id == *id));
    let mut steps: Vec<PlanStep> = Vec::with_capacity(fields.len());
    for fields in &fields {
        let taken = |id: &String| !steps.iter().any(|step: &PlanStep| step.id == *id);
        let id = kept(fields).filter(taken).unwrap_or_else(|| ids.next());
        let mut step = PlanStep { id, ..PlanStep::default() };
        fill(&mut step, fields)?;
        steps.push(step);
    }
    // What is named may be a step's place, the name the writer gave it, or its title.
    for at in 0..fields.len() {
        let mut depends_on: Vec<String> = Vec::new();
        for name in fields[at].depends_on.iter().flatten() {
            let text = name.text();
            let by_name = fields.iter().position(|other| named(other).is_some_and(|id| id == text));
            let by_id = || steps.iter().position(|step| step.id == text && known.iter().any(|one| one.id == text));
            let place = by_name.or_else(by_id).or_else(|| by_place(&text, &steps));
            let Some(place) = place else {
                return Err(format!("step {} depends on {text:?}, which is not a step of this plan.", at + 1));
            };
            if !depends_on.contains(&steps[place].id) {
                depends_on.push(steps[place].id.clone());
            }
        }
        steps[at].depends_on = depends_on;
    }
    let assumptions = written.assumptions.unwrap_or_default();
    let plan = Plan {
        summary: clean(&written.summary.unwrap_or_default(), 2_000),
        steps,
        assumptions: assumptions.iter().take(20).map(|one| line(one, 500)).collect(),
    };
    if json!(plan).to_string().len() > LARGEST {
        return Err(format!("it is too long; {LARGEST} bytes at most. Say less about each step."));
    }
    let order = order(&plan)?;
    // A plan that the user edits stays in their order; a model's is shown in the order of work.
    Ok(if known.is_empty() { arranged(plan, &order) } else { plan })
}

/// The plan in this order, its steps numbered in it.
fn arranged(mut plan: Plan, order: &[usize]) -> Plan {
    let number = |id: &String| {
        let at = order.iter().position(|at| plan.steps[*at].id == *id);
        at.map_or_else(|| id.clone(), |at| format!("s{}", at + 1))
    };
    let arranged = |at: &usize| {
        let step = plan.steps[*at].clone();
        PlanStep { id: number(&step.id), depends_on: step.depends_on.iter().map(number).collect(), ..step }
    };
    plan.steps = order.iter().map(arranged).collect();
    plan
}

/// New ids, none of which was ever in use.
pub(crate) struct StepIds(usize);

impl StepIds {
    pub(crate) fn beyond(known: &[PlanStep]) -> Self {
        let number = |step: &PlanStep| step.id.strip_prefix('s').and_then(|number| number.parse().ok());
        Self(known.iter().filter_map(number).max().unwrap_or(0))
    }

    pub(crate) fn next(&mut self) -> String {
        self.0 += 1;
        format!("s{}", self.0)
    }
}

/// Puts what is written into a step; what is not written stays.
pub(crate) fn fill(step: &mut PlanStep, fields: &StepFields) -> Result<(), String> {
    let list = |items: &Vec<String>| -> Vec<String> {
        items.iter().map(|item| line(item, 500)).filter(|item| !item.is_empty()).take(50).collect()
    };
    if let Some(title) = &fields.title {
        step.title = line(title, 200);
    }
    if step.title.is_empty() {
        return Err("a step has no title.".into());
    }
    if let Some(details) = &fields.details {
        step.details = clean(details, 4_000);
    }
    if let Some(files) = &fields.files {
        step.files = list(files);
    }
    if let Some(commands) = &fields.commands {
        step.commands = list(commands);
    }
    if let Some(estimate) = &fields.estimate {
        step.estimate = Some(line(&estimate.text(), 80)).filter(|text| !text.is_empty());
    }
    Ok(())
}

/// A text of at most `most` characters, without control characters.
fn clean(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control() || *c == '\n').take(most).collect()
}

/// The step that a number, `step 2` or a title names.
pub(crate) fn by_place(name: &str, steps: &[PlanStep]) -> Option<usize> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number = digits.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < steps.len());
    let short = name.len() - digits.len() <= 6;
    number.filter(|_| short).or_else(|| steps.iter().position(|step| step.title.eq_ignore_ascii_case(name)))
}

/// The order of work: as listed, but nothing before what it depends on. A circle is named.
pub(crate) fn order(plan: &Plan) -> Result<Vec<usize>, String> {
    let mut order: Vec<usize> = Vec::with_capacity(plan.steps.len());
    while order.len() < plan.steps.len() {
        let is_done = |id: &String| {
            order.iter().any(|done| plan.steps[*done].id == *id) || !plan.steps.iter().any(|step| step.id == *id)
        };
        let ready =
            (0..plan.steps.len()).find(|at| !order.contains(at) && plan.steps[*at].depends_on.iter().all(is_done));
        match ready {
            Some(at) => order.push(at),
            None => {
                let stuck = (0..plan.steps.len()).filter(|at| !order.contains(at));
                let titles: Vec<String> =
                    stuck.take(6).map(|at| format!("{} ({})", at + 1, plan.steps[at].title)).collect();
                return Err(format!("these steps wait for each other, so that none can begin: {}.", titles.join(", ")));
            }
        }
    }
    Ok(order)
}

/// How many steps of a plan can run at the same time: none of them waits for another one, and each changes other files.
/// Steps that name no files do not count, because nothing says what they would change.
pub(crate) fn steps_apart(plan: &Plan) -> usize {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    for at in order(plan).unwrap_or_default() {
        let step = &plan.steps[at];
        let depth =
            step.depends_on.iter().filter_map(|id| depths.get(id.as_str())).max().map_or(0, |deepest| deepest + 1);
        depths.insert(&step.id, depth);
    }
    let apart = |depth: usize| {
        let (mut files, mut count): (BTreeSet<&String>, usize) = (BTreeSet::new(), 0);
        for step in plan.steps.iter().filter(|step| depths.get(step.id.as_str()) == Some(&depth)) {
            if !step.files.is_empty() && step.files.iter().all(|file| !files.contains(file)) {
                files.extend(&step.files);
                count += 1;
            }
        }
        count
    };
    depths.values().copied().collect::<BTreeSet<usize>>().into_iter().map(apart).max().unwrap_or(0)
}

/// A text of at most `most` characters, on one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let is_between = |c: char| c.is_whitespace() || c.is_control();
    let mut line: String = text.split(is_between).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() > most {
        line = line.chars().take(most.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Plan, String> {
        super::read(&value, &[])
    }

    #[test]
    fn steps_run_apart_where_neither_order_nor_files_bind_them() {
        let step =
            |title: &str, files: &[&str], after: &[u32]| json!({"title": title, "files": files, "dependsOn": after});
        let apart = |steps: Value| steps_apart(&read(json!({"summary": "a", "steps": steps})).expect("a plan"));
        let [a, b, c] = ["a.rs", "b.rs", "c.rs"];
        assert_eq!(apart(json!([step("A", &[a], &[]), step("B", &[b], &[]), step("C", &[c], &[])])), 3);
        assert_eq!(apart(json!([step("A", &[a], &[]), step("B", &[b, a], &[]), step("C", &[c], &[])])), 2);
        assert_eq!(apart(json!([step("A", &[a], &[]), step("B", &[b], &[1]), step("C", &[c], &[1])])), 2);
        assert_eq!(
            apart(json!([step("A", &[], &[]), step("B", &[], &[]), step("C", &[], &[])])),
            0,
            "nothing is named"
        );
    }

    #[test]
    fn a_plan_is_read_whatever_names_a_model_has_for_its_fields() {
        let plan = read(json!({"goal": "a", "steps": ["First", {"name": "Second", "description": "how",
            "depends_on": ["First"], "estimate": 5}, {"id": "x", "title": "Third", "dependsOn": ["step 2", 1]}]}))
        .expect("a plan");
        let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["s1", "s2", "s3"]);
        assert_eq!(plan.steps[1].depends_on, ["s1"]);
        assert_eq!(plan.steps[1].estimate.as_deref(), Some("5"));
        assert_eq!(plan.steps[2].depends_on, ["s2", "s1"]);
    }

    #[test]
    fn what_cannot_be_a_plan_is_refused_in_words() {
        for (value, wanted) in [
            (json!({"steps": []}), "no steps"),
            (json!({}), "missing field `steps`"),
            (json!({"steps": [{"title": " "}]}), "no title"),
            (json!({"steps": vec!["x"; 41]}), "41 steps are too many"),
            (json!({"steps": vec![json!({"title": "x", "details": "y".repeat(4_000)}); 30]}), "it is too long"),
            (json!({"steps": [{"title": "a", "dependsOn": [7]}]}), "not a step of this plan"),
            (json!({"steps": [{"title": "a", "dependsOn": [1]}]}), "wait for each other"),
            (
                json!({"steps": [{"title": "a", "dependsOn": [2]}, {"title": "b", "dependsOn": [1]}, "c"]}),
                "wait for each other, so that none can begin: 1 (a), 2 (b).",
            ),
        ] {
            let wrong = read(value.clone()).expect_err("refused");
            assert!(wrong.contains(wanted), "{value}: {wrong}");
        }
    }

    #[test]
    fn long_texts_are_cut_and_odd_characters_dropped() {
        let plan = read(json!({"steps": [{"title": "x\u{1b}[2J\ny".repeat(400), "details": "\u{7}é".repeat(9_000),
            "files": vec!["f"; 400]}]}))
        .expect("a plan");
        let step = &plan.steps[0];
        assert_eq!((step.title.chars().count(), step.details.chars().count(), step.files.len()), (200, 4_000, 50));
    }

    #[test]
    fn the_order_of_work_is_the_list_s_unless_something_must_come_first() {
        let plan = read(json!({"steps": [{"title": "a", "dependsOn": [3]}, "b", {"title": "c", "dependsOn": [2]}]}));
        let plan = plan.expect("a plan");
        let shown: Vec<_> =
            plan.steps.iter().map(|step| (&*step.id, &*step.title, step.depends_on.join(","))).collect();
        assert_eq!(shown, [("s1", "b", "".into()), ("s2", "c", "s1".into()), ("s3", "a", "s2".to_owned())]);
        assert_eq!(order(&plan), Ok(vec![0, 1, 2]));
    }
}
