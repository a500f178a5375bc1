//! Image generation: the number of images, their prompts, the budget, the results, and what the user saves. Each call
//! is an internal tool call: recorded before it is made, and its end before anything follows from it.
//!
//! `go_on` reads the recorded state and does the next thing, so a new process continues from any point.

pub(crate) mod count;
mod prompts;

use trimtab_vocab::event::{AnswerFact, Level, RouteDecision, RouteFact, Stage, Status, ToolStatus, UsageFact};
use trimtab_vocab::wording::{Notice, ProblemText, StageLabel};
use trimtab_vocab::{
    Answer, CallId, Fault, GeneratedImage, ImageBatch, ImageFact, ImageId, MadePicture, PicturePlan, PictureWish,
    Problem, ProblemKind, Purpose, RequestId, Retry, Time, Usage,
};

use crate::Effect;
use crate::calls::{self, budget, retry};
use crate::finish::finish;
use crate::record::{Progress, RunningRequest};
use crate::tools::ToolAction;
use crate::transition::{Next, Transition};
use crate::words::References;

pub use count::count;

pub(crate) use crate::record::MOST_PICTURES as MOST;

/// Whether the words of a request are what it is about. What wants something of the gallery names no files.
pub(crate) fn reads_its_words(active: &RunningRequest) -> bool {
    !matches!(active.request.picture.as_deref(), Some(PictureWish::Regenerate { .. } | PictureWish::Save { .. }))
}

/// "Based on the README" names a file without its extension, and means that file.
pub(crate) fn add_readme(words: &str, named: &mut References) {
    let is_readme = |word: &str| word.eq_ignore_ascii_case("readme");
    let says_so = words.split(|c: char| !c.is_alphanumeric()).any(is_readme);
    let is_named = named.files.iter().any(|file| file.to_lowercase().contains("readme"));
    if says_so && !is_named {
        named.files.push("README.md".into());
    }
    named.is_explicit |= says_so;
}

/// A request that says what it wants of the gallery needs no other path.
pub(crate) fn begin(step: &mut Transition<'_>) {
    let decided = RouteFact {
        decision: RouteDecision::Image,
        confidence: 1.0,
        complexity: 0,
        categories: Vec::new(),
        reason: "the request uses the image gallery".into(),
        entities: None,
        filter: None,
        category: None,
        analysis: None,
    };
    step.then(Next::Routed(Box::new(decided)));
}

/// Does what comes next.
pub(crate) fn go_on(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    if active.batch.is_some() {
        return step.then(Next::Batch);
    }
    let request = active.request.id.clone();
    match active.request.picture.as_deref().cloned() {
        Some(PictureWish::Save { images, folder }) => save(step, &request, images, folder),
        wish => make(step, &request, wish),
    }
}

fn make(step: &mut Transition<'_>, request: &RequestId, wish: Option<PictureWish>) {
    let Some(active) = step.session.active() else { return };
    let settings = &active.request.settings.image;
    if settings.model.is_empty() {
        return finish(step, request, Status::Failed, Some(nobody()));
    }
    if let Some(PictureWish::Regenerate { image, .. }) = &wish
        && step.session.picture(image).is_none()
    {
        return finish(step, request, Status::Failed, Some(unknown(image)));
    }
    let (asked, count) = wanted(active);
    let next = settings.price_usd * f64::from(count);
    if let Some(bill) = budget::allow_price(step.session, next) {
        return budget::ask(step, &bill);
    }
    let Some(active) = step.session.active() else { return };
    let words = active.request.words().to_owned();
    let single = match &wish {
        Some(PictureWish::Regenerate { image, prompt }) => Some((prompt.clone(), Some(image.clone()))),
        _ if count == 1 && active.steering.steers.is_empty() => Some((words.clone(), None)),
        _ => None,
    };
    if let Some((prompt, image)) = single {
        return plan(step, vec![PicturePlan { prompt, count: 1, image }]);
    }
    if asked > count {
        step.notify(request, Level::Warning, Notice::TooManyPictures(asked, MOST));
    }
    call(step);
}

/// How many pictures the user asked for, and how many are made.
fn wanted(active: &RunningRequest) -> (u32, u32) {
    let asked = match active.request.picture.as_deref() {
        Some(PictureWish::Make { count: Some(count) }) => *count,
        Some(PictureWish::Regenerate { .. }) => 1,
        _ => count(active.request.words()),
    };
    (asked, asked.clamp(1, MOST))
}

/// Lets the fast model write the prompts; without money for that, the user's words are the prompts.
pub(crate) fn call(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let prices = calls::fast(&active.request).1.prices;
    let prompt = prompts::ask(active, prompts_wanted(active));
    if let budget::BudgetVerdict::TooDear(_) = budget::allow(step.session, &prompt) {
        return given_up(step);
    }
    step.enter(&request, Stage::Planning, StageLabel::WritingPrompts);
    calls::send(step, prompt, prices, Purpose::ImagePrompts);
}

/// One prompt serves for all of them where they are to be variants.
fn prompts_wanted(active: &RunningRequest) -> u32 {
    match active.request.settings.image.batch {
        ImageBatch::Distinct => wanted(active).1,
        ImageBatch::SamePrompt => 1,
    }
}

/// The model has written prompts, as well as it could.
pub(crate) fn replied(step: &mut Transition<'_>, said: &str) {
    let Some(active) = step.session.active() else { return };
    let prompts = prompts::read(said, active.request.words(), prompts_wanted(active));
    plan_prompts(step, prompts);
}

/// No prompts could be written, so the user's text is the prompt.
pub(crate) fn given_up(step: &mut Transition<'_>) {
    replied(step, "");
}

fn plan_prompts(step: &mut Transition<'_>, prompts: Vec<String>) {
    let Some(active) = step.session.active() else { return };
    let each = if prompts.len() == 1 { wanted(active).1 } else { 1 };
    let plan_of = |prompt| PicturePlan { prompt, count: each, image: None };
    plan(step, prompts.into_iter().map(plan_of).collect());
}

fn plan(step: &mut Transition<'_>, pictures: Vec<PicturePlan>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let settings = active.request.settings.image.clone();
    let count: u32 = pictures.iter().map(|plan| plan.count).sum();
    let label = if count == 1 { StageLabel::MakingPicture } else { StageLabel::MakingPictures(count) };
    let planned = ImageFact::Planned { model: settings.model, pictures, price_usd: settings.price_usd };
    step.emit(Some(&request), planned);
    step.enter(&request, Stage::Running, label);
    step.then(Next::Batch);
}

/// Asks for pictures, at once or after a wait.
pub(crate) fn draw(step: &mut Transition<'_>, call: &CallId, prompt: &str, count: u32, after_ms: u64) {
    let Some(active) = step.session.active() else { return };
    let (request, model) = (active.request.id.clone(), active.request.settings.image.model.clone());
    step.request(Effect::Draw { request, call: call.clone(), model, prompt: prompt.to_owned(), count, after_ms });
}

/// A call came to its end.
pub(crate) fn drawn(
    step: &mut Transition<'_>,
    call: &CallId,
    time: Time,
    pictures: Vec<MadePicture>,
    fault: Option<Fault>,
) {
    let Some(active) = step.session.active() else { return };
    let Some(item) = active.batch.as_ref().and_then(|batch| batch.item(call)).cloned() else { return };
    let request = active.request.id.clone();
    let Ok(ToolAction::Draw { prompt, count }) = item.action.as_deref() else { return };
    if item.progress != Progress::Started {
        return;
    }
    let Some(active) = step.session.active() else { return };
    let (prompt, count) = (prompt.clone(), *count);
    let retries = active.request.settings.models.retries;
    let settings = active.request.settings.image.clone();
    let place = |number: usize| match active.request.picture.as_deref() {
        Some(PictureWish::Regenerate { image, .. }) => image.clone(),
        _ => ImageId::at(time.millis(), &request, call, number),
    };
    let places: Vec<ImageId> = (0..count as usize).map(place).collect();
    let made = pictures.len().min(places.len());
    let problem = match (made, fault) {
        (0, Some(Fault { problem, retry: Retry::Later { after_ms } })) if item.tries < retries => {
            let wait = retry::delay_ms(call, item.tries, after_ms);
            let failed = ImageFact::Failed {
                call: call.clone(),
                image: None,
                original_prompt: prompt.clone(),
                error: problem,
                failed: time,
                retry_in_ms: Some(wait),
            };
            step.emit(Some(&request), failed);
            return draw(step, call, &prompt, count, wait);
        }
        (0, Some(Fault { problem, .. })) => problem,
        (made, _) => {
            let message = ProblemText::FewerPictures(made, count);
            Problem::new(ProblemKind::Protocol, message).hint(ProblemText::FewerPicturesHint)
        }
    };
    for (image, picture) in places.iter().zip(&pictures) {
        let MadePicture { key, media_type, bytes, revised_prompt } = picture.clone();
        let fact = ImageFact::Made {
            image: image.clone(),
            call: call.clone(),
            original_prompt: prompt.clone(),
            revised_prompt,
            key,
            media_type,
            bytes,
            made: time,
            cost_usd: settings.price_usd,
        };
        step.emit(Some(&request), fact);
    }
    if made > 0 {
        let usage = Usage { cost_usd: Some(settings.price_usd * made as f64), ..Usage::default() };
        let model = settings.model;
        step.emit(
            Some(&request),
            UsageFact { model, usage, context_tokens: None, context_window: None, unfinished: false, worker: None },
        );
    }
    for image in &places[made..] {
        let failed = ImageFact::Failed {
            call: call.clone(),
            image: Some(image.clone()),
            original_prompt: prompt.clone(),
            error: problem.clone(),
            failed: time,
            retry_in_ms: None,
        };
        step.emit(Some(&request), failed);
    }
    let names: Vec<String> = pictures.iter().take(made).map(|picture| format!("ref:{}", picture.key)).collect();
    let (status, text) = match places.len() - made {
        0 => (ToolStatus::Ok, names.join(", ")),
        _ if made > 0 => (ToolStatus::Partial, format!("{}. {problem}", names.join(", "))),
        _ => (ToolStatus::Error, problem.to_string()),
    };
    step.then(Next::CallEnded { call: call.clone(), status, text });
}

fn save(step: &mut Transition<'_>, request: &RequestId, images: Vec<ImageId>, folder: String) {
    if let Some(image) = images.iter().find(|image| is_missing(step.session.picture(image))) {
        return finish(step, request, Status::Failed, Some(unknown(image)));
    }
    if images.is_empty() {
        let problem =
            Problem::new(ProblemKind::Usage, ProblemText::NoPictureSelected).hint(ProblemText::NoPictureSelectedHint);
        return finish(step, request, Status::Failed, Some(problem));
    }
    step.emit(Some(request), ImageFact::Saving { images, folder });
    step.then(Next::Batch);
}

/// The user chose pictures, or chose them no longer. What is as they want it is not said again.
pub(crate) fn select(step: &mut Transition<'_>, images: Vec<ImageId>, selected: bool) {
    let is_news = |image: &ImageId| step.session.picture(image).is_some_and(|picture| picture.selected != selected);
    let images: Vec<ImageId> = images.into_iter().filter(is_news).collect();
    if !images.is_empty() {
        step.emit(None, ImageFact::Selected { images, selected });
    }
}

fn is_missing(picture: Option<&GeneratedImage>) -> bool {
    picture.is_none_or(|picture| picture.key().is_none())
}

/// All calls have ended: reports the results, and ends the request.
pub(crate) fn closed(step: &mut Transition<'_>, outcomes: &[(ToolStatus, String)]) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    step.enter(&request, Stage::Finishing, StageLabel::Finishing);
    if let Some(PictureWish::Save { .. }) = step.session.active().and_then(|active| active.request.picture.as_deref()) {
        return saved(step, &request, outcomes);
    }
    let all: Vec<GeneratedImage> = step.session.pictures_of(&request).cloned().collect();
    let made: Vec<GeneratedImage> = all.iter().filter(|image| image.problem.is_none()).cloned().collect();
    // A picture that stays because no new one could be made in its place is not of this request.
    let failed: Vec<&String> =
        outcomes.iter().filter(|(status, _)| *status != ToolStatus::Ok).map(|(_, text)| text).collect();
    if made.is_empty() {
        let problem = all.iter().find_map(|image| image.problem.clone());
        let problem = problem.unwrap_or_else(|| {
            let text = failed.first().map_or_else(|| ProblemText::NoPictureMade.into(), |text| (*text).clone());
            Problem::new(ProblemKind::Refused, text).hint(ProblemText::NoPictureMadeHint)
        });
        return finish(step, &request, Status::Failed, Some(problem));
    }
    let missing: Vec<&GeneratedImage> = all.iter().filter(|image| image.problem.is_some()).collect();
    let summary = summary(&made, &missing);
    let answer = Answer { summary, generated_images: made, ..Answer::default() };
    step.emit(Some(&request), AnswerFact { answer });
    finish(step, &request, Status::Completed, None);
}

fn saved(step: &mut Transition<'_>, request: &RequestId, outcomes: &[(ToolStatus, String)]) {
    match outcomes.first() {
        Some((ToolStatus::Ok | ToolStatus::Partial, text)) => {
            let answer = Answer { summary: text.clone(), ..Answer::default() };
            step.emit(Some(request), AnswerFact { answer });
            finish(step, request, Status::Completed, None);
        }
        other => {
            let text = other.map_or_else(|| ProblemText::NothingSaved.into(), |(_, text)| text.clone());
            let problem = Problem::new(ProblemKind::Refused, text).hint(ProblemText::NothingSavedHint);
            finish(step, request, Status::Failed, Some(problem));
        }
    }
}

fn summary(made: &[GeneratedImage], missing: &[&GeneratedImage]) -> String {
    let mut text = format!("Generated Images ({})", made.len());
    for (number, image) in (1..).zip(made) {
        text.push_str(&format!("\n{number}. {} ({}, {})", one_line(&image.original_prompt), image.url, image.id));
    }
    for image in missing {
        let why = image.problem.as_ref().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!(
            "\nNot made: {} {why} Retry with `trimtab images regenerate {}`.",
            one_line(&image.original_prompt),
            image.id
        ));
    }
    text
}

/// A prompt as a list shows it.
fn one_line(prompt: &str) -> String {
    const LONGEST: usize = 200;
    let plain: String = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

fn nobody() -> Problem {
    Problem::new(ProblemKind::Settings, ProblemText::NoImageModel).hint(ProblemText::NoImageModelHint)
}

fn unknown(image: &ImageId) -> Problem {
    Problem::new(ProblemKind::NotFound, ProblemText::NoSuchPicture(image.to_string()))
        .hint(ProblemText::NoSuchPictureHint)
}
