//! Pictures, from the words to the files: whole requests with a scripted model.

use insta::assert_snapshot;
use trimtab_testkit::scenario::{only, play};

/// What is told of all of them together. What is told of each comes in the order in which they end.
const TOGETHER: [&str; 6] =
    ["image.planned", "image.failed", "image.saving", "answer", "request.finished", "change.applied"];
/// What is told of each.
const EACH: [&str; 3] = ["image.made", "tool.finished", "usage"];

fn told(scenario: &str) -> String {
    only(&play(scenario), &TOGETHER)
}

fn all_told(scenario: &str) -> String {
    only(&play(scenario), &[&TOGETHER[..], &EACH[..]].concat())
}

#[test]
fn one_picture_is_made_from_the_words_themselves() {
    assert_snapshot!(all_told(
        r#"
        % image=m/p
        > Draw a fox
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"Draw a fox","count":1}],"priceUsd":0.07}
    r1 image.made {"image":"img1","call":"c1t1","originalPrompt":"Draw a fox","revisedPrompt":"Draw a fox, in oil","ref":"picture-r1-c1t1-0","mediaType":"image/gif","bytes":20,"made":"2027-01-15T08:00:00.000Z","costUsd":0.07}
    r1 usage {"model":"m/p","inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"ref:picture-r1-c1t1-0"}
    r1 answer {"summary":"Generated Images (1)\n1. Draw a fox (ref:picture-r1-c1t1-0, img1)","generatedImages":[{"id":"img1","originalPrompt":"Draw a fox","revisedPrompt":"Draw a fox, in oil","url":"ref:picture-r1-c1t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":20}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}}
    --- ordered
    Draw a fox
    "#);
}

#[test]
fn several_pictures_get_prompts_of_their_own_and_come_in_their_order() {
    assert_snapshot!(told(
        r#"
        --- README.md
        A tide clock.
        --- dialogue
        % image=m/p
        > Create 3 icon ideas for my app logo based on the README
        ?^ exactly 3 strings
        ?+ A tide clock.
        < ["a BUSY wave","a moon","a clock"]
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a BUSY wave","count":1},{"prompt":"a moon","count":1},{"prompt":"a clock","count":1}],"priceUsd":0.07}
    r1 image.failed {"call":"c2t1","originalPrompt":"a BUSY wave","error":{"kind":"rate_limited","message":"Too fast."},"failed":"2027-01-15T08:00:00.000Z","retryInMs":1}
    r1 answer {"summary":"Generated Images (3)\n1. a BUSY wave (ref:picture-r1-c2t1-0, img1)\n2. a moon (ref:picture-r1-c2t2-0, img2)\n3. a clock (ref:picture-r1-c2t3-0, img3)","generatedImages":[{"id":"img1","originalPrompt":"a BUSY wave","revisedPrompt":"a BUSY wave, in oil","url":"ref:picture-r1-c2t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":21},{"id":"img2","originalPrompt":"a moon","revisedPrompt":"a moon, in oil","url":"ref:picture-r1-c2t2-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":16},{"id":"img3","originalPrompt":"a clock","revisedPrompt":"a clock, in oil","url":"ref:picture-r1-c2t3-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":17}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.21000000000000002}}
    --- README.md
    A tide clock.
    --- ordered
    a BUSY wave
    a BUSY wave
    a clock
    a moon
    "#);
}

#[test]
fn prompts_that_nobody_could_write_are_the_persons_words() {
    assert_snapshot!(told(
        r#"
        % image=m/p
        > draw 2 icons
        <! overloaded: busy
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"draw 2 icons\n(Variation 1 of 2; show one of them, clearly different from the others.)","count":1},{"prompt":"draw 2 icons\n(Variation 2 of 2; show one of them, clearly different from the others.)","count":1}],"priceUsd":0.07}
    r1 answer {"summary":"Generated Images (2)\n1. draw 2 icons (Variation 1 of 2; show one of them, clearly different from the others.) (ref:picture-r1-c2t1-0, img1)\n2. draw 2 icons (Variation 2 of 2; show one of them, clearly different from the others.) (ref:picture-r1-c2t2-0, img2)","generatedImages":[{"id":"img1","originalPrompt":"draw 2 icons\n(Variation 1 of 2; show one of them, clearly different from the others.)","revisedPrompt":"draw 2 icons\n(Variation 1 of 2; show one of them, clearly different from the others.), in oil","url":"ref:picture-r1-c2t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":95},{"id":"img2","originalPrompt":"draw 2 icons\n(Variation 2 of 2; show one of them, clearly different from the others.)","revisedPrompt":"draw 2 icons\n(Variation 2 of 2; show one of them, clearly different from the others.), in oil","url":"ref:picture-r1-c2t2-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":95}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.14}}
    --- ordered
    draw 2 icons
    (Variation 1 of 2; show one of them, clearly different from the others.)
    draw 2 icons
    (Variation 2 of 2; show one of them, clearly different from the others.)
    "#);
}

#[test]
fn variants_of_one_prompt_are_one_call() {
    assert_snapshot!(all_told(
        r#"
        % image=m/p
        % image_batch=same_prompt
        > draw 3 icons
        < ["a FEW icon"]
        "#
    ), @r#"
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5}
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a FEW icon","count":3}],"priceUsd":0.07}
    r1 image.made {"image":"img1","call":"c2t1","originalPrompt":"a FEW icon","revisedPrompt":"a FEW icon, in oil","ref":"picture-r1-c2t1-0","mediaType":"image/gif","bytes":20,"made":"2027-01-15T08:00:00.000Z","costUsd":0.07}
    r1 image.made {"image":"img2","call":"c2t1","originalPrompt":"a FEW icon","revisedPrompt":"a FEW icon, in oil","ref":"picture-r1-c2t1-1","mediaType":"image/gif","bytes":20,"made":"2027-01-15T08:00:00.000Z","costUsd":0.07}
    r1 usage {"model":"m/p","inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.14}
    r1 image.failed {"call":"c2t1","image":"img3","originalPrompt":"a FEW icon","error":{"kind":"protocol","message":"The provider generated only 2 of 3 images.","hint":"Ask for the others again."},"failed":"2027-01-15T08:00:00.000Z"}
    r1 tool.finished {"call":"c2t1","status":"partial","preview":"ref:picture-r1-c2t1-0, ref:picture-r1-c2t1-1. The provider generated only 2 of 3 images."}
    r1 answer {"summary":"Generated Images (2)\n1. a FEW icon (ref:picture-r1-c2t1-0, img1)\n2. a FEW icon (ref:picture-r1-c2t1-1, img2)\nNot made: a FEW icon The provider generated only 2 of 3 images. Retry with `trimtab images regenerate img3`.","generatedImages":[{"id":"img1","originalPrompt":"a FEW icon","revisedPrompt":"a FEW icon, in oil","url":"ref:picture-r1-c2t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":20},{"id":"img2","originalPrompt":"a FEW icon","revisedPrompt":"a FEW icon, in oil","url":"ref:picture-r1-c2t1-1","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":20}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.14}}
    --- ordered
    a FEW icon
    "#);
}

#[test]
fn what_could_not_be_made_is_told_and_can_be_made_in_its_place() {
    assert_snapshot!(told(
        r#"
        % image=m/p
        > draw 2 icons
        < ["a BROKEN wave","a moon"]
        % picture={"wish":"regenerate","image":"$1","prompt":"a calm wave"}
        > again
        % picture={"wish":"regenerate","image":"$2","prompt":"a BROKEN moon"}
        > again
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a BROKEN wave","count":1},{"prompt":"a moon","count":1}],"priceUsd":0.07}
    r1 image.failed {"call":"c2t1","image":"img1","originalPrompt":"a BROKEN wave","error":{"kind":"refused","message":"The provider refuses this picture."},"failed":"2027-01-15T08:00:00.000Z"}
    r1 answer {"summary":"Generated Images (1)\n1. a moon (ref:picture-r1-c2t2-0, img2)\nNot made: a BROKEN wave The provider refuses this picture. Retry with `trimtab images regenerate img1`.","generatedImages":[{"id":"img2","originalPrompt":"a moon","revisedPrompt":"a moon, in oil","url":"ref:picture-r1-c2t2-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":16}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.07}}
    r2 image.planned {"model":"m/p","pictures":[{"prompt":"a calm wave","count":1,"image":"img1"}],"priceUsd":0.07}
    r2 answer {"summary":"Generated Images (1)\n1. a calm wave (ref:picture-r2-c3t1-0, img1)","generatedImages":[{"id":"img1","originalPrompt":"a calm wave","revisedPrompt":"a calm wave, in oil","url":"ref:picture-r2-c3t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":21}]}
    r2 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}}
    r3 image.planned {"model":"m/p","pictures":[{"prompt":"a BROKEN moon","count":1,"image":"img2"}],"priceUsd":0.07}
    r3 image.failed {"call":"c4t1","image":"img2","originalPrompt":"a BROKEN moon","error":{"kind":"refused","message":"The provider refuses this picture."},"failed":"2027-01-15T08:00:00.000Z"}
    r3 request.finished {"status":"failed","error":{"kind":"refused","message":"The provider refuses this picture.","hint":"Rephrase the request, or try again."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    --- ordered
    a BROKEN moon
    a BROKEN wave
    a calm wave
    a moon
    "#);
}

#[test]
fn a_request_without_a_single_picture_fails() {
    assert_snapshot!(told(
        r#"
        % image=m/p
        > Draw a BROKEN fox
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"Draw a BROKEN fox","count":1}],"priceUsd":0.07}
    r1 image.failed {"call":"c1t1","image":"img1","originalPrompt":"Draw a BROKEN fox","error":{"kind":"refused","message":"The provider refuses this picture."},"failed":"2027-01-15T08:00:00.000Z"}
    r1 request.finished {"status":"failed","error":{"kind":"refused","message":"The provider refuses this picture."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    --- ordered
    Draw a BROKEN fox
    "#);
}

#[test]
fn pictures_that_were_there_before_a_kill_are_not_paid_for_again() {
    assert_snapshot!(told(
        r#"
        % image=m/p
        > draw 3 icons
        < ["a wave","a SLOW moon","a clock"]
        ^K
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a wave","count":1},{"prompt":"a SLOW moon","count":1},{"prompt":"a clock","count":1}],"priceUsd":0.07}
    r1 answer {"summary":"Generated Images (3)\n1. a wave (ref:picture-r1-c2t1-0, img1)\n2. a SLOW moon (ref:picture-r1-c2t2-0, img2)\n3. a clock (ref:picture-r1-c2t3-0, img3)","generatedImages":[{"id":"img1","originalPrompt":"a wave","revisedPrompt":"a wave, in oil","url":"ref:picture-r1-c2t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":16},{"id":"img2","originalPrompt":"a SLOW moon","revisedPrompt":"a SLOW moon, in oil","url":"ref:picture-r1-c2t2-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":21},{"id":"img3","originalPrompt":"a clock","revisedPrompt":"a clock, in oil","url":"ref:picture-r1-c2t3-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":17}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.21000000000000002}}
    --- ordered
    a SLOW moon
    a SLOW moon
    a clock
    a wave
    "#);
}

#[test]
fn a_cancelled_request_keeps_the_pictures_that_came() {
    assert_snapshot!(told(
        r#"
        % image=m/p
        > draw 2 icons
        < ["a wave","a SLOW moon"]
        ^C
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a wave","count":1},{"prompt":"a SLOW moon","count":1}],"priceUsd":0.07}
    r1 request.finished {"status":"cancelled","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.07}}
    --- ordered
    a SLOW moon
    a wave
    "#);
}

#[test]
fn saving_writes_under_free_names_and_can_be_taken_back() {
    assert_snapshot!(told(
        r#"
        --- art/image-001.gif
        mine
        --- dialogue
        % image=m/p
        > draw 2 icons
        < ["a wave","a moon"]
        % picture={"wish":"save","images":["$2","$1"],"folder":"art"}
        > save
        = test "$(cat art/image-001.gif)" = mine && test -f art/image-002.gif && test -f art/image-003.gif
        ^B 1
        @ change.reverted
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"a wave","count":1},{"prompt":"a moon","count":1}],"priceUsd":0.07}
    r1 answer {"summary":"Generated Images (2)\n1. a wave (ref:picture-r1-c2t1-0, img1)\n2. a moon (ref:picture-r1-c2t2-0, img2)","generatedImages":[{"id":"img1","originalPrompt":"a wave","revisedPrompt":"a wave, in oil","url":"ref:picture-r1-c2t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":16},{"id":"img2","originalPrompt":"a moon","revisedPrompt":"a moon, in oil","url":"ref:picture-r1-c2t2-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":16}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.14}}
    r2 image.saving {"images":["img2","img1"]}
    r2 change.applied {"changeSet":"r2-x-c3t1","position":0,"files":[{"path":"art/image-002.gif","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false},{"path":"art/image-003.gif","added":1,"removed":0,"modified":0,"isNew":true,"isDeleted":false}]}
    r2 answer {"summary":"Saved 2 images: art/image-002.gif, art/image-003.gif."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    --- art/image-001.gif
    mine
    --- ordered
    a moon
    a wave
    "#);
}

#[test]
fn nothing_is_saved_outside_of_the_folder_or_into_a_folder_that_nobody_trusts() {
    assert_snapshot!(all_told(
        r#"
        % image=m/p
        > draw an icon
        % picture={"wish":"save","images":["$1"],"folder":"../elsewhere"}
        > save
        % picture={"wish":"save","images":["$1"],"folder":".trimtab"}
        > save
        % trusted=false
        % picture={"wish":"save","images":["$1"],"folder":"art"}
        > save
        ! no
        "#
    ), @r#"
    r1 image.planned {"model":"m/p","pictures":[{"prompt":"draw an icon","count":1}],"priceUsd":0.07}
    r1 image.made {"image":"img1","call":"c1t1","originalPrompt":"draw an icon","revisedPrompt":"draw an icon, in oil","ref":"picture-r1-c1t1-0","mediaType":"image/gif","bytes":22,"made":"2027-01-15T08:00:00.000Z","costUsd":0.07}
    r1 usage {"model":"m/p","inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}
    r1 tool.finished {"call":"c1t1","status":"ok","preview":"ref:picture-r1-c1t1-0"}
    r1 answer {"summary":"Generated Images (1)\n1. draw an icon (ref:picture-r1-c1t1-0, img1)","generatedImages":[{"id":"img1","originalPrompt":"draw an icon","revisedPrompt":"draw an icon, in oil","url":"ref:picture-r1-c1t1-0","timestamp":1800000000000,"selected":false,"mediaType":"image/gif","bytes":22}]}
    r1 request.finished {"status":"completed","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}}
    r2 image.saving {"images":["img1"]}
    r2 tool.finished {"call":"c2t1","status":"error","preview":"../elsewhere/image-001.gif is outside the folder. Only files in the folder can be changed."}
    r2 request.finished {"status":"failed","error":{"kind":"refused","message":"../elsewhere/image-001.gif is outside the folder. Only files in the folder can be changed.","hint":"Nothing was written. Choose another folder."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    r3 image.saving {"images":["img1"]}
    r3 tool.finished {"call":"c3t1","status":"blocked","preview":"Files in .trimtab are the user's own settings; they cannot be changed from here."}
    r3 request.finished {"status":"failed","error":{"kind":"refused","message":"Files in .trimtab are the user's own settings; they cannot be changed from here.","hint":"Nothing was written. Choose another folder."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    r4 image.saving {"images":["img1"]}
    r4 tool.finished {"call":"c4t1","status":"blocked","preview":"The folder is not trusted, so you cannot write to it."}
    r4 request.finished {"status":"failed","error":{"kind":"refused","message":"The folder is not trusted, so you cannot write to it.","hint":"Nothing was written. Choose another folder."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    --- ordered
    draw an icon
    "#);
}

#[test]
fn a_picture_that_could_pass_the_budget_is_asked_about_first() {
    assert_snapshot!(only(
        &play(
            r#"
        % image=m/p
        % budget=0.1
        > draw 2 icons
        ! raise 0.5
        < ["a wave","a moon"]
        "#
        ),
        &["checkpoint.opened", "checkpoint.resolved", "usage", "request.finished"]
    ), @r#"
    r1 checkpoint.opened {"checkpoint":"r1-k1","kind":"confirm","title":"The next call could cost $0.1400 or more and exceed the budget of $0.1000. $0.0000 is already spent.","choices":[{"id":"raise","label":"Raise budget","number":1,"text":"optional","role":"primary"},{"id":"stop","label":"Stop here","number":2,"text":"no","role":"dismiss"}],"about":"budget","budgetUsd":0.1,"spentUsd":0.0,"nextCallUsd":0.14}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"raise","text":"0.5","by":"user"}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5}
    r1 usage {"model":"m/p","inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}
    r1 usage {"model":"m/p","inputTokens":0,"cachedTokens":0,"outputTokens":0,"costUsd":0.07}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5,"costUsd":0.14}}
    --- ordered
    a moon
    a wave
    "#);
}

#[test]
fn without_a_model_for_pictures_the_model_answers_in_words() {
    assert_snapshot!(only(
        &play(
            r#"
        > Draw a fox
        < A fox has a red coat.
        "#
        ),
        &["banner", "answer"]
    ), @r#"
    r1 banner {"level":"warning","text":"This asks for an image, but no image model is set (models.image, for example \"xai/grok-imagine-image-2.0\"), so the model answers in text. For a drawing as a file, ask for an SVG by name, as in \"Draw the logo as logo.svg\"."}
    r1 answer {"summary":"A fox has a red coat."}
    "#);
}
