//! `trimtab images`: the pictures that a session has made.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::{Client, ComposedRequest, Manner, SendTo, refined};
use trimtab_vocab::{GeneratedImage, ImageId, PictureWish, Problem, ProblemKind, SessionId, format};

use super::changes::HistoryArgs;
use super::follow::{Attendance, OutputForm, follow};
use super::number::image_count;
use super::output::{note, print, print_json, sanitize};
use super::run::{ApproveArg, dollars};
use super::{CliOutcome, place};
use crate::words::one_line;

const EXAMPLES: &str = "\
Examples:
  trimtab images make \"Four icons for a weather app\"
  trimtab images regenerate 2 --refine \"darker\"
  trimtab images save 1 3 --to assets";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Images {
    #[command(subcommand)]
    command: Option<ImagesCommand>,
}

#[derive(Debug, Subcommand)]
enum ImagesCommand {
    /// List the images of a session
    List(ImagesListArgs),
    /// Generate images
    Make(Make),
    /// Regenerate an image in place
    Regenerate(Regenerate),
    /// Select images for `save`, or deselect them
    Select(Select),
    /// Save images to the folder (`trimtab rewind` undoes it)
    Save(Save),
}

#[derive(Debug, Default, Args)]
struct ImagesListArgs {
    /// Print one JSON object per image
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: HistoryArgs,
}

/// How a command that makes a request is followed.
#[derive(Debug, Args)]
struct FollowArgs {
    /// Print events as JSON lines and nothing else
    #[arg(long)]
    json: bool,
    /// Limit the cost of the session in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Trust the folder for this run
    #[arg(long)]
    trust: bool,
    /// Choose how to handle approval prompts
    #[arg(long, value_enum, default_value = "ask")]
    approve: ApproveArg,
}

#[derive(Debug, Args)]
struct Make {
    /// Description of the image
    prompt: String,
    /// Generate this many images [default: taken from the description]
    #[arg(long, short = 'n', value_name = "N", value_parser = image_count)]
    count: Option<u32>,
    /// Continue this session instead of starting one
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    how: FollowArgs,
}

#[derive(Debug, Args)]
struct Regenerate {
    /// Image: its ID or its number in the list
    image: String,
    /// Use another prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Add this to the prompt
    #[arg(long, value_name = "TEXT")]
    refine: Option<String>,
    #[command(flatten)]
    how: FollowArgs,
    #[command(flatten)]
    place: HistoryArgs,
}

#[derive(Debug, Args)]
struct Select {
    /// Images: IDs or numbers in the list
    #[arg(required = true)]
    images: Vec<String>,
    /// Deselect the images
    #[arg(long)]
    off: bool,
    #[command(flatten)]
    place: HistoryArgs,
}

#[derive(Debug, Args)]
struct Save {
    /// Images: IDs or numbers in the list [default: the selected ones, else all]
    images: Vec<String>,
    /// Save to this folder, relative to the session's folder
    #[arg(long = "to", value_name = "FOLDER", default_value = "")]
    to: String,
    #[command(flatten)]
    how: FollowArgs,
    #[command(flatten)]
    place: HistoryArgs,
}

impl Images {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        match self.command.unwrap_or_else(|| ImagesCommand::List(ImagesListArgs::default())) {
            ImagesCommand::List(command) => command.execute().await,
            ImagesCommand::Make(command) => command.execute().await,
            ImagesCommand::Regenerate(command) => command.execute().await,
            ImagesCommand::Select(command) => command.execute().await,
            ImagesCommand::Save(command) => command.execute().await,
        }
    }
}

impl ImagesListArgs {
    async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let gallery = client.gallery().list(&session).await?;
        if self.json {
            for picture in &gallery {
                print_json(&json!(picture))?;
            }
            return Ok(CliOutcome::Done);
        }
        if gallery.is_empty() {
            note("There are no images in this session. Generate one with `trimtab images make \"a fox\"`.");
        }
        for (number, picture) in (1..).zip(&gallery) {
            print(&sanitize(&line(number, picture)))?;
        }
        Ok(CliOutcome::Done)
    }
}

/// `1 [x] img-… A fox (ref:…, image/png, 120 KB)`
fn line(number: usize, picture: &GeneratedImage) -> String {
    let mark = if picture.selected { 'x' } else { ' ' };
    let prompt = one_line(&picture.original_prompt);
    let what = match &picture.problem {
        Some(problem) => format!("not made: {problem}"),
        None => format!("{}, {}, {}", picture.url, picture.media_type, format::size(picture.bytes)),
    };
    format!("{number:>3} [{mark}] {} {prompt} ({what})\n", picture.id)
}

impl Make {
    async fn execute(self) -> Result<CliOutcome, Problem> {
        let folder = place::folder(self.dir.as_deref())?;
        let (profile, client) = place::open(&self.how.flags())?;
        let (target, folder) = match self.session {
            Some(session) => {
                let row = client.sessions().get(&session).await?;
                (SendTo::Session(session), row.folder)
            }
            None => (SendTo::New { folder: folder.clone() }, folder),
        };
        let wish = PictureWish::Make { count: self.count };
        let composed = client.gallery().compose(&profile, &folder, wish, &self.prompt, self.how.manner()).await?;
        self.how.follow(&client, target, composed).await
    }
}

impl Regenerate {
    async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&self.how.flags())?;
        let session = self.place.find(&client).await?;
        let gallery = client.gallery().list(&session).await?;
        let picture = found(&gallery, &self.image)?;
        let prompt = self.prompt.as_deref().unwrap_or(&picture.original_prompt);
        let prompt = refined(prompt, self.refine.as_deref().unwrap_or_default());
        let wish = PictureWish::Regenerate { image: picture.id.clone(), prompt };
        let folder = client.sessions().get(&session).await?.folder;
        let composed = client.gallery().compose(&profile, &folder, wish, "", self.how.manner()).await?;
        self.how.follow(&client, SendTo::Session(session), composed).await
    }
}

impl Select {
    async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        let session = self.place.find(&client).await?;
        let gallery = client.gallery().list(&session).await?;
        let images = ids(&gallery, &self.images)?;
        let (count, selected) = (images.len(), !self.off);
        client.gallery().select(&session, images, selected).await?;
        let what = if selected { "selected" } else { "no longer selected" };
        let now = client.gallery().list(&session).await?;
        let all = now.iter().filter(|image| image.selected).count();
        note(&format!("{} {what} ({all} of {} selected).", format::plural(count, "image"), now.len()));
        Ok(CliOutcome::Done)
    }
}

impl Save {
    async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&self.how.flags())?;
        let session = self.place.find(&client).await?;
        let gallery = client.gallery().list(&session).await?;
        let there = || gallery.iter().filter(|picture| picture.problem.is_none());
        if there().next().is_none() {
            return Err(Problem::new(ProblemKind::NotFound, "There are no images to save in this session.")
                .hint("`trimtab images make \"Draw a fox\"` makes one; --session names another session."));
        }
        let images: Vec<ImageId> = match (self.images.is_empty(), there().any(|picture| picture.selected)) {
            (false, _) => ids(&gallery, &self.images)?,
            (true, true) => there().filter(|picture| picture.selected).map(|picture| picture.id.clone()).collect(),
            (true, false) => there().map(|picture| picture.id.clone()).collect(),
        };
        let folder = client.sessions().get(&session).await?.folder;
        let wish = PictureWish::Save { images, folder: self.to };
        let composed = client.gallery().compose(&profile, &folder, wish, "", self.how.manner()).await?;
        self.how.follow(&client, SendTo::Session(session), composed).await
    }
}

impl FollowArgs {
    fn flags(&self) -> Vec<trimtab_host::config::Flag> {
        let flag = |budget: f64| trimtab_host::config::Flag {
            path: "limits.budget_usd",
            option: "--budget",
            value: budget.to_string(),
        };
        self.budget.map(flag).into_iter().collect()
    }

    fn asking(&self) -> Attendance {
        Attendance::from_approve(self.approve, self.json)
    }

    fn manner(&self) -> Manner {
        let attended = self.asking() == Attendance::AtTheTerminal;
        Manner { attended, approve: self.approve.into(), trust: self.trust, ..Manner::default() }
    }

    async fn follow(&self, client: &Client, target: SendTo, composed: ComposedRequest) -> Result<CliOutcome, Problem> {
        let sent = client.send(target, composed).await?;
        follow(client, &sent, 0, OutputForm::from_json_flag(self.json), self.asking()).await
    }
}

fn ids(gallery: &[GeneratedImage], named: &[String]) -> Result<Vec<ImageId>, Problem> {
    named.iter().map(|name| found(gallery, name).map(|picture| picture.id.clone())).collect()
}

/// A picture by its id or its number.
fn found<'a>(gallery: &'a [GeneratedImage], name: &str) -> Result<&'a GeneratedImage, Problem> {
    let by_number = || gallery.get(name.parse::<usize>().ok()?.checked_sub(1)?);
    gallery.iter().find(|picture| picture.id.as_str() == name).or_else(by_number).ok_or_else(|| {
        Problem::new(ProblemKind::NotFound, format!("There is no image {name} in this session."))
            .hint("`trimtab images list` shows all images.")
    })
}
