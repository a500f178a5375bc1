//! Pictures: the gallery of a session, and what can be wanted of it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use trimtab_host::{Manner, SendTo, refined};
use trimtab_vocab::{GeneratedImage, ImageId, PictureWish, SessionId};

use super::Shared;
use super::extract::{Id, JsonBody, QueryArgs};
use super::failure::Failure;
use super::openapi::{Api, RouteOperation};
use super::sessions::Accepted;

/// Pictures of one request, and of one choice.
const MOST_MADE: u32 = 10;
const MOST_CHOSEN: usize = 1_000;

pub(super) fn routes(api: Api) -> Api {
    let picture = json!({"id": "img-1703123456789-abc123", "originalPrompt": "A minimalist app icon",
        "revisedPrompt": "A 3D rendered minimalist app icon", "url": "ref:picture-r01kabcdefghjkmnq-c1t1-0",
        "timestamp": 1_703_123_456_789_i64, "selected": false, "mediaType": "image/jpeg", "bytes": 120_345});
    let said = json!({"session": "s01kabcdefghjkmnp", "request": "r01kabcdefghjkmnq"});
    let taken = "Accepted and stored durably. The session's events report the result.";
    let list = RouteOperation::new("get", "listImages", "images", "Images of a session in gallery order")
        .query::<WhoseImages>()
        .gives::<Gallery>(
            StatusCode::OK,
            "The images. The bytes of `ref:KEY` are at `/api/refs/KEY`.",
            json!({"images": [picture.clone()]}),
        )
        .fails(404);
    let make = RouteOperation::new("post", "makeImages", "images", "Generate images")
        .takes::<NewImages>(json!({"session": "s01kabcdefghjkmnp", "prompt": "A minimalist app icon", "count": 2}))
        .gives::<Accepted>(StatusCode::ACCEPTED, taken, said.clone())
        .fails(404)
        .fails(502);
    let again = RouteOperation::new("post", "regenerateImage", "images", "Regenerate an image in its place")
        .path::<ImageId>("id", "The image.", "img-1703123456789-abc123")
        .takes::<RegenerateImage>(json!({"session": "s01kabcdefghjkmnp", "prompt": "A minimalist app icon",
            "refinement": "make it darker, add a gradient, more 3D look"}))
        .gives::<Accepted>(StatusCode::ACCEPTED, taken, said.clone())
        .fails(404)
        .fails(502);
    let select = RouteOperation::new("post", "selectImages", "images", "Select or deselect images")
        .takes::<SelectImages>(
            json!({"session": "s01kabcdefghjkmnp", "images": ["img-1703123456789-abc123"], "selected": true}),
        )
        .gives::<Gallery>(StatusCode::OK, "The gallery as it is now.", json!({"images": [picture]}))
        .fails(404);
    let save = RouteOperation::new(
        "post",
        "saveImages",
        "images",
        "Save images to the session's folder as image-001.jpg and so on",
    )
    .takes::<SaveImages>(
        json!({"session": "s01kabcdefghjkmnp", "images": ["img-1703123456789-abc123"], "folder": "assets"}),
    )
    .gives::<Accepted>(StatusCode::ACCEPTED, taken, said)
    .fails(404)
    .fails(502);
    api.add("/images", get(gallery).post(make_images), vec![list, make])
        .add("/images/select", post(choose), vec![select])
        .add("/images/save", post(keep), vec![save])
        .add("/images/{id}/regenerate", post(regenerate), vec![again])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WhoseImages {
    /// The session of the images.
    session: SessionId,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Gallery {
    /// The images, in the order of the gallery.
    images: Vec<GeneratedImage>,
}

async fn gallery(
    State(server): State<Shared>,
    QueryArgs(wanted): QueryArgs<WhoseImages>,
) -> Result<Json<Gallery>, Failure> {
    Ok(Json(Gallery { images: server.client.gallery().list(&wanted.session).await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewImages {
    /// Where; without it, in a new session in the server's folder.
    session: Option<SessionId>,
    /// What to show.
    #[schemars(length(min = 1, max = 32_768))]
    prompt: String,
    /// Number of images. The default is the number in the text.
    #[schemars(range(min = 1, max = 10))]
    count: Option<u32>,
}

async fn make_images(
    State(server): State<Shared>,
    JsonBody(new): JsonBody<NewImages>,
) -> Result<(StatusCode, Json<Accepted>), Failure> {
    if new.count.is_some_and(|count| !(1..=MOST_MADE).contains(&count)) {
        return Err(Failure::unprocessable("Request 1 to 10 images at a time."));
    }
    let (target, folder) = match new.session {
        Some(session) => {
            let row = server.client.sessions().get(&session).await?;
            (SendTo::Session(session), row.folder)
        }
        None => (SendTo::New { folder: server.folder.clone() }, server.folder.clone()),
    };
    want(&server, target, &folder, PictureWish::Make { count: new.count }, &new.prompt).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RegenerateImage {
    /// The session of the image.
    session: SessionId,
    /// The prompt. Default: the prompt of the current image.
    #[schemars(length(max = 32_768))]
    prompt: Option<String>,
    /// Text to add to the prompt.
    #[schemars(length(max = 32_768))]
    refinement: Option<String>,
}

async fn regenerate(
    State(server): State<Shared>,
    Id(image): Id<ImageId>,
    JsonBody(again): JsonBody<RegenerateImage>,
) -> Result<(StatusCode, Json<Accepted>), Failure> {
    let there = server.client.gallery().get(&again.session, &image).await?;
    let prompt = again.prompt.filter(|prompt| !prompt.trim().is_empty()).unwrap_or(there.original_prompt);
    let prompt = refined(&prompt, again.refinement.as_deref().unwrap_or_default());
    let folder = server.client.sessions().get(&again.session).await?.folder;
    let wish = PictureWish::Regenerate { image, prompt };
    want(&server, SendTo::Session(again.session), &folder, wish, "").await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SelectImages {
    /// The session of the images.
    session: SessionId,
    #[schemars(length(max = 1_000))]
    images: Vec<ImageId>,
    /// Whether they are chosen from now on.
    selected: bool,
}

async fn choose(
    State(server): State<Shared>,
    JsonBody(choice): JsonBody<SelectImages>,
) -> Result<Json<Gallery>, Failure> {
    let SelectImages { session, images, selected } = choice;
    server.client.sessions().get(&session).await?;
    check_number(&images)?;
    server.client.gallery().select(&session, images, selected).await?;
    Ok(Json(Gallery { images: server.client.gallery().list(&session).await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveImages {
    /// The session of the images.
    session: SessionId,
    /// The images. Default: the selected ones.
    #[schemars(length(max = 1_000))]
    images: Option<Vec<ImageId>>,
    /// Target folder, relative to the session's folder. The default is the session's folder.
    #[schemars(length(max = 4_096))]
    folder: Option<String>,
}

async fn keep(
    State(server): State<Shared>,
    JsonBody(keep): JsonBody<SaveImages>,
) -> Result<(StatusCode, Json<Accepted>), Failure> {
    let SaveImages { session, images, folder: to } = keep;
    let gallery = server.client.gallery().list(&session).await?;
    let images = match images {
        Some(images) => images,
        None => gallery.iter().filter(|picture| picture.selected).map(|picture| picture.id.clone()).collect(),
    };
    check_number(&images)?;
    if images.is_empty() {
        return Err(Failure::unprocessable("No image is selected.").hint("Select some, or name them in `images`."));
    }
    let is_there = |image: &ImageId| gallery.iter().any(|picture| picture.id == *image && picture.problem.is_none());
    if let Some(image) = images.iter().find(|image| !is_there(image)) {
        return Err(Failure::unprocessable(format!("There is no image {image} in this session.")));
    }
    let folder = server.client.sessions().get(&session).await?.folder;
    let wish = PictureWish::Save { images, folder: to.unwrap_or_default() };
    want(&server, SendTo::Session(session), &folder, wish, "").await
}

fn check_number(images: &[ImageId]) -> Result<(), Failure> {
    match images.len() {
        ..=MOST_CHOSEN => Ok(()),
        _ => Err(Failure::unprocessable("At most 1000 images can be selected at once.")),
    }
}

async fn want(
    server: &Shared,
    target: SendTo,
    folder: &str,
    wish: PictureWish,
    words: &str,
) -> Result<(StatusCode, Json<Accepted>), Failure> {
    let manner = Manner::attended();
    let composed = server.client.gallery().compose(&server.profile(), folder, wish, words, manner).await?;
    let sent = server.client.send(target, composed).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { session: sent.session, request: sent.request })))
}
