//! Chooses the path of a request, in layers: the user's choice, what the text clearly says, and otherwise one call of
//! the fast model. Work in a folder goes straight to the agent, a conversation has no tools, and plan mode is
//! read-only.

mod asked;
mod calibrate;
mod classify;
mod words;

pub(crate) use asked::{AskedDeeds, asked_files, deeds, is_unclear_about_a_file, only_mends, wants_only_words};
pub(crate) use words::{RequestSignals, read as words};

use trimtab_vocab::event::{RouteDecision, RouteFact, Stage};
use trimtab_vocab::wording::StageLabel;
use trimtab_vocab::{Mode, Prompt, Purpose, Request, Role, Routing};

use crate::agents;
use crate::calls::{self, budget};
use crate::fragment;
use crate::record::Session;
use crate::transition::{Next, Transition};

/// Turns of the conversation that the router sees.
const TURNS: usize = 6;

/// What the rules make of a request; none where they cannot place it.
fn by_rules(request: &Request, has_folder: bool) -> Option<RouteFact> {
    if request.settings.subtasks.is_worker {
        let categories = needs(RouteDecision::Direct);
        return Some(RouteFact {
            categories,
            ..plain(RouteDecision::Direct, 1.0, "a worker carries out its sub-task")
        });
    }
    if has_folder && !agents::called(request).is_empty() {
        let categories = needs(RouteDecision::Direct);
        return Some(RouteFact { categories, ..plain(RouteDecision::Direct, 1.0, "the request calls an agent") });
    }
    if let Some(pill) = &request.pill {
        let decision = match request.mode {
            Mode::Chat => RouteDecision::Chat,
            Mode::Plan => RouteDecision::Plan,
            Mode::Auto if !has_folder => RouteDecision::Chat,
            Mode::Auto | Mode::Implement => RouteDecision::Direct,
        };
        let categories = if pill.categories.is_empty() { needs(decision) } else { pill.categories.clone() };
        let reason = format!("the request starts the pill /{}", pill.name);
        return Some(RouteFact { categories, ..plain(decision, 1.0, &reason) });
    }
    let copilot = &request.settings.copilot;
    // A tag does not start the work if a conversation comes first.
    let marked = crate::words::path(&request.tags)
        .filter(|(_, decision, _)| has_folder && !(copilot.conversational && *decision == RouteDecision::Direct));
    if let (Mode::Auto, Some((tag, decision, groups))) = (request.mode, marked) {
        let groups = groups.map(|groups| groups.iter().map(|group| (*group).to_owned()).collect());
        let categories = groups.unwrap_or_else(|| needs(decision));
        let reason = format!("the request has the tag #{tag}");
        return Some(RouteFact { categories, ..plain(decision, 1.0, &reason) });
    }
    let tools = request.settings.models.facts.tools;
    let words = words::read(&request.text);
    // Pictures and files that came with the words are what they are about.
    let alone = request.images.is_empty() && request.refs.is_empty();
    let (decision, reason) = match request.mode {
        Mode::Chat => (RouteDecision::Chat, "the user chose chat mode"),
        Mode::Plan => (RouteDecision::Plan, "the user chose plan mode"),
        Mode::Auto if !has_folder => (RouteDecision::Chat, "there is no folder to work in"),
        Mode::Auto if alone && words.small_talk => (RouteDecision::Chat, "the request is small talk"),
        Mode::Auto if alone && words.picture && request.settings.image.detect => {
            (RouteDecision::Image, "the request asks for an image")
        }
        Mode::Auto if words.plan && copilot.enable_planning => {
            (RouteDecision::Plan, "the request asks for a plan first")
        }
        Mode::Auto if alone && words.concept => {
            (RouteDecision::Chat, "the request asks about a concept, not about this folder")
        }
        Mode::Auto if alone && words.prose => (RouteDecision::Chat, "the request asks only for text"),
        Mode::Auto if alone && words.talk && !words.here && !words.change => {
            (RouteDecision::Chat, "the request asks to discuss first")
        }
        Mode::Auto if copilot.intelligent_routing != Routing::Off && alone => return None,
        Mode::Auto if !tools => (RouteDecision::Direct, "the model cannot use tools and answers in a fixed form"),
        Mode::Auto | Mode::Implement => (RouteDecision::Direct, "work in a folder goes straight to the agent"),
    };
    Some(RouteFact { categories: needs(decision), ..plain(decision, 1.0, reason) })
}

fn plain(decision: RouteDecision, confidence: f64, reason: &str) -> RouteFact {
    RouteFact {
        decision,
        confidence,
        complexity: 0,
        categories: Vec::new(),
        reason: reason.into(),
        entities: None,
        filter: None,
        category: None,
        analysis: None,
    }
}

/// The default tool groups of a path.
fn needs(decision: RouteDecision) -> Vec<String> {
    let names: &[&str] = match decision {
        RouteDecision::Chat | RouteDecision::Image => &[],
        RouteDecision::Plan => &["files"],
        RouteDecision::Direct | RouteDecision::Clarify => &["files", "commands", "web"],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Routes the running request, or asks a model to.
pub(crate) fn begin(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    match by_rules(&active.request, step.session.folder().is_some()) {
        Some(fact) => step.then(Next::Routed(Box::new(fact))),
        None => {
            let request = active.request.id.clone();
            step.enter(&request, Stage::Routing, StageLabel::Understanding);
            call(step);
        }
    }
}

/// Asks for a look at the request.
pub(crate) fn call(step: &mut Transition<'_>) {
    let Some(prompt) = prompt(step.session) else { return };
    if let budget::BudgetVerdict::TooDear(_) = budget::allow(step.session, &prompt) {
        return failed(step);
    }
    let prices = step.session.active().and_then(|active| calls::fast(&active.request).1.prices);
    calls::send(step, prompt, prices, Purpose::Route);
}

fn prompt(session: &Session) -> Option<Prompt> {
    let active = session.active()?;
    let (model, facts) = calls::fast(&active.request);
    let said = session.conversation();
    // The request itself is the last of them.
    let earlier = &said[..said.len().saturating_sub(1)];
    let turns: Vec<(bool, String)> = earlier[earlier.len().saturating_sub(TURNS)..]
        .iter()
        .map(|message| (message.role == Role::User, message.text()))
        .filter(|(_, text)| !text.trim().is_empty() && !fragment::is_note(text))
        .collect();
    Some(Prompt {
        model: model.to_owned(),
        max_output_tokens: classify::ANSWER.min(facts.max_output),
        temperature: Some(0.0),
        format: Some(classify::format()),
        ..classify::prompt(active.request.settings.copilot.intelligent_routing, &active.request.text, &turns)
    })
}

/// The model has looked.
pub(crate) fn replied(step: &mut Transition<'_>, said: &str) {
    let Some(active) = step.session.active() else { return };
    let Some(verdict) = classify::read(said) else { return failed(step) };
    let copilot = &active.request.settings.copilot;
    let mut fact = calibrate::decide(verdict, words::read(&active.request.text), copilot);
    if fact.categories.is_empty() {
        fact.categories = needs(fact.decision);
    }
    step.then(Next::Routed(Box::new(fact)));
}

/// The classification failed. The work begins anyway, because permissions guard it.
pub(crate) fn failed(step: &mut Transition<'_>) {
    let decision = RouteDecision::Direct;
    let reason = "the router failed; work in a folder goes straight to the agent, and permissions guard it";
    let fact = RouteFact { categories: needs(decision), ..plain(decision, 0.0, reason) };
    step.then(Next::Routed(Box::new(fact)));
}

pub(crate) use crate::record::offer;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use trimtab_vocab::{Copilot, RunSettings};

    use super::*;

    const LABELLED: &str = include_str!("labelled.txt");

    fn request(text: &str, routing: Routing) -> Request {
        let copilot = Copilot { intelligent_routing: routing, ..Copilot::default() };
        Request::new("r1".parse().expect("an id"), text, RunSettings { copilot, ..RunSettings::default() })
    }

    /// `decision | flags | words`; flags: `e` it has effects, `m` only the model can tell, and then what a
    /// model says.
    struct Line {
        wanted: RouteDecision,
        effects: bool,
        verdict: Option<String>,
        words: String,
    }

    fn lines() -> Vec<Line> {
        let line = |line: &str| {
            let mut fields = line.splitn(3, '|').map(str::trim);
            let wanted = fields.next().expect("a decision");
            let flags = fields.next().expect("flags");
            let words = fields.next().unwrap_or_else(|| panic!("no words: {line}")).replace("\\n", "\n");
            let verdict = flags.split_once('{').map(|(_, verdict)| format!("{{{verdict}"));
            let effects = flags.split('{').next().is_some_and(|flags| flags.contains('e'));
            let wanted = serde_json::from_value(wanted.into()).unwrap_or_else(|_| panic!("no decision: {line}"));
            Line { wanted, effects, verdict, words }
        };
        LABELLED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(line).collect()
    }

    #[test]
    fn labelled_requests_are_placed_right_by_rules_and_a_scripted_model() {
        let lines = lines();
        assert!(lines.len() >= 200, "{}", lines.len());
        let mut wrong = Vec::new();
        let mut calls = 0;
        let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
        for line in &lines {
            let request = request(&line.words, Routing::Aggressive);
            let placed = by_rules(&request, true).unwrap_or_else(|| {
                calls += 1;
                let said = line
                    .verdict
                    .as_deref()
                    .unwrap_or("{\"decision\":\"direct\",\"confidence\":0.9,\"toolNeed\":0.9,\"steps\":1}");
                let verdict = classify::read(said).expect("a verdict");
                calibrate::decide(verdict, words::read(&line.words), &request.settings.copilot)
            });
            *kinds.entry(format!("{:?}", line.wanted)).or_default() += 1;
            if placed.decision != line.wanted {
                wrong.push(format!(
                    "{:?} instead of {:?} ({}): {}",
                    placed.decision, line.wanted, placed.reason, line.words
                ));
            }
        }
        println!("{} requests, {calls} calls, {kinds:?}, wrong: {wrong:#?}", lines.len());
        assert!(wrong.len() * 20 <= lines.len(), "{wrong:#?}");
        assert!(calls * 3 <= lines.len() * 2, "a third of the requests and more costs no look: {calls}");
        assert!(kinds.values().all(|count| *count >= 15), "{kinds:?}");
    }

    #[test]
    fn by_rules_alone_work_is_never_sent_where_nobody_would_be_asked() {
        for line in lines().iter().filter(|line| line.effects) {
            let placed = by_rules(&request(&line.words, Routing::Off), true).expect("rules place everything");
            let guarded =
                matches!(placed.decision, RouteDecision::Direct | RouteDecision::Plan | RouteDecision::Clarify);
            assert!(guarded, "{:?}: {}", placed.decision, line.words);
        }
    }

    #[test]
    fn a_plain_request_costs_no_call() {
        for line in lines() {
            assert!(by_rules(&request(&line.words, Routing::Off), true).is_some(), "{}", line.words);
        }
        assert_eq!(by_rules(&request("Tidy up", Routing::Minimal), true), None);
    }

    /// A session in a folder whose first request was just admitted, and the call that follows.
    fn called(request: Request) -> (Session, Prompt) {
        let mut session = Session::default();
        let id = request.id.clone();
        crate::step(&mut session, crate::Input::Opened { folder: "/p".into() });
        crate::step(&mut session, crate::Input::Said { request: Box::new(request) });
        let outputs = crate::step(&mut session, crate::Input::Admitted { request: id });
        let prompt = sent(outputs).expect("the model is called");
        (session, prompt)
    }

    fn sent(outputs: Vec<crate::Output>) -> Option<Prompt> {
        outputs.into_iter().find_map(|output| match output {
            crate::Output::Effect(crate::Effect::CallModel { prompt, .. }) => Some(*prompt),
            _ => None,
        })
    }

    /// The tools that the work is given after the router has said this.
    fn offered(verdict: &str) -> Vec<String> {
        let (mut session, call) = called(request("Tidy up", Routing::Minimal));
        assert!(call.tools.is_empty() && call.system.starts_with("You classify a request"));
        let message = trimtab_vocab::Message {
            role: Role::Assistant,
            parts: vec![trimtab_vocab::Part::Text { text: verdict.into() }],
        };
        let stop_reason = Some(trimtab_vocab::StopReason::EndTurn);
        let reply = trimtab_vocab::Reply { message, stop_reason, usage: trimtab_vocab::Usage::default() };
        let call = session.open_call().expect("a call").clone();
        let replied = crate::Input::Replied { call, reply, raw: None, warnings: Vec::new() };
        let work = sent(crate::step(&mut session, replied)).expect("the work begins");
        work.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    #[test]
    fn a_look_is_taken_at_temperature_zero_with_a_small_answer() {
        let (_, call) = called(request("Tidy up", Routing::Aggressive));
        assert_eq!((call.temperature, call.max_output_tokens), (Some(0.0), classify::ANSWER));
        assert!(matches!(call.format, Some(trimtab_vocab::Format::Schema { .. })));
    }

    #[test]
    fn only_tools_of_the_groups_that_the_router_names_are_offered() {
        let of = |categories: &str| {
            let said = format!(
                r#"{{"decision":"direct","confidence":0.9,"toolNeed":0.9,"steps":1,"categories":[{categories}]}}"#
            );
            let tools = offered(&said);
            ["read_file", "edit_file", "run_command", "fetch_url"].map(|name| tools.iter().any(|tool| tool == name))
        };
        assert_eq!(of(r#""files""#), [true, true, false, false]);
        assert_eq!(of(r#""commands""#), [true, true, true, false], "files are part of all work");
        assert_eq!(of(r#""files","web""#), [true, true, false, true]);
        assert_eq!(of(""), [true; 4], "where it names none, all of them");
        assert_eq!(offered(r#"{"decision":"chat","confidence":0.9,"toolNeed":0.0}"#), Vec::<String>::new());
    }

    #[test]
    fn short_questions_about_ideas_skip_the_router_and_work_does_not() {
        let placed = |words: &str| by_rules(&request(words, Routing::Aggressive), true).map(|fact| fact.decision);
        assert_eq!(placed("What is a monad?"), Some(RouteDecision::Chat));
        assert_eq!(placed("delete a.txt"), None);
        assert_eq!(placed("What is a monad? Delete a.txt"), None);
    }

    #[test]
    fn how_long_a_task_is_does_not_say_how_clear_it_is() {
        let decided = |words: &str, verdict: &str| {
            let request = request(words, Routing::Aggressive);
            assert_eq!(by_rules(&request, true), None, "{words}: the model is asked");
            let verdict = classify::read(verdict).expect("a verdict");
            calibrate::decide(verdict, words::read(words), &request.settings.copilot).decision
        };
        let clear = r#"{"decision":"direct","confidence":0.9,"toolNeed":0.9,"steps":1,"files":1}"#;
        let vague = r#"{"decision":"clarify","confidence":0.9,"missing":["purpose"],"questions":[{"text":"Why?"}]}"#;
        let short = "Sort src/names.txt by length";
        let long = "Take whatever we have been collecting in the various places over the past months and turn all of \
                    it into the thing that everybody on the team has been asking about for so long, the way they \
                    would like to have it, please, soon";
        assert_eq!((short.split(' ').count(), long.split(' ').count()), (4, 44));
        assert_eq!([decided(short, clear), decided(long, vague)], [RouteDecision::Direct, RouteDecision::Clarify]);
        assert_eq!([decided(short, vague), decided(long, clear)], [RouteDecision::Clarify, RouteDecision::Direct]);
    }

    #[test]
    fn what_the_person_chose_comes_first() {
        let mut request = request("Delete everything", Routing::Aggressive);
        request.mode = Mode::Chat;
        assert_eq!(by_rules(&request, true).map(|fact| fact.decision), Some(RouteDecision::Chat));
        request.mode = Mode::Plan;
        assert_eq!(by_rules(&request, true).map(|fact| fact.decision), Some(RouteDecision::Plan));
        request.mode = Mode::Auto;
        let marked = |request: &Request, tag: &str| {
            let request = Request { tags: vec![tag.into()], ..request.clone() };
            by_rules(&request, true).map(|fact| (fact.decision, fact.categories.join(" ")))
        };
        assert_eq!(marked(&request, "research"), Some((RouteDecision::Direct, "files web".into())));
        assert_eq!(marked(&request, "plan"), Some((RouteDecision::Plan, "files".into())));
    }
}
