//! Whole requests, from the words to the log, with the real engine, host and database.

use trimtab_testkit::scenario::play_unmeasured as play;

#[test]
fn a_plain_request_is_answered() {
    insta::assert_snapshot!(play(
        "
        --- notes.txt
        untouched
        --- dialogue
        > hello
        ? hello
        < Hi |there.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"hello","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request is small talk"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"Hi there."}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Hi there."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    --- notes.txt
    untouched
    "#);
}

#[test]
fn a_second_request_sees_the_first() {
    insta::assert_snapshot!(play(
        "
        > one
        < first
        > two
        ? two
        < second
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"one","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"first"}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"first"}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 request.received {"text":"two","mode":"auto"}
    r2 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r2 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r2 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r2 stage {"stage":"running","label":"Waiting for the model..."}
    r2 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r2 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"second"}]}}
    r2 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r2 stage {"stage":"finishing","label":"Finishing..."}
    r2 answer {"summary":"second"}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_failed_call_is_made_again_and_the_answer_is_whole() {
    insta::assert_snapshot!(play(
        "
        > hello
        <! overloaded: busy
        ? hello
        < Hi.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"hello","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request is small talk"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 model.failed {"call":"c1","error":{"kind":"overloaded","message":"busy"},"retryInMs":1}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":2}
    r1 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"Hi."}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Hi."}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_cut_reply_is_kept_but_is_not_the_answer() {
    insta::assert_snapshot!(play(
        "
        > hello
        <~ Hi the
        ? hello
        < Hi there.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"hello","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request is small talk"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"Hi the"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":1,"estimated":true,"unfinished":true}
    r1 model.failed {"call":"c1","error":{"kind":"truncated","message":"The provider's reply ended before it was complete."},"retryInMs":254}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":2}
    r1 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"Hi there."}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Hi there."}
    r1 request.finished {"status":"completed","usage":{"cachedTokens":0,"outputTokens":6,"estimated":true}}
    "#);
}

#[test]
fn a_refused_call_fails_the_request_at_once() {
    insta::assert_snapshot!(play(
        "
        > hello
        <!! refused: no such model
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"hello","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request is small talk"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 model.failed {"call":"c1","error":{"kind":"refused","message":"no such model"}}
    r1 request.finished {"status":"failed","error":{"kind":"refused","message":"no such model"},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    "#);
}

#[test]
fn a_cancelled_request_keeps_the_words_and_the_next_one_knows() {
    insta::assert_snapshot!(play(
        "
        > tell me a long story
        <… Once upon |a time
        ^C
        > shorter
        ? shorter
        < The end.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"tell me a long story","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request asks only for text"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 request.stopping {}
    r1 banner {"level":"info","text":"[Conversation interrupted]"}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"Once upon a time"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":4,"estimated":true,"unfinished":true}
    r1 request.finished {"status":"cancelled","usage":{"cachedTokens":0,"outputTokens":4,"estimated":true}}
    r2 request.received {"text":"shorter","mode":"auto"}
    r2 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r2 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r2 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r2 stage {"stage":"running","label":"Waiting for the model..."}
    r2 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r2 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"The end."}]}}
    r2 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r2 stage {"stage":"finishing","label":"Finishing..."}
    r2 answer {"summary":"The end."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_killed_program_makes_the_call_again_and_shows_what_had_come() {
    insta::assert_snapshot!(play(
        "
        > tell me a story
        <… Once upon
        ^K
        ? tell me a story
        < Once upon a time.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"tell me a story","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request asks only for text"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"Once upon"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":2,"estimated":true,"unfinished":true}
    r1 model.failed {"call":"c1","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"Once upon a time."}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"Once upon a time."}
    r1 request.finished {"status":"completed","usage":{"cachedTokens":0,"outputTokens":7,"estimated":true}}
    "#);
}

#[test]
fn a_program_killed_again_and_again_still_comes_to_the_end() {
    insta::assert_snapshot!(play(
        "
        > go on
        <… a
        ^K
        <… ab
        ^K
        <… abc
        ^K
        < abcd
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"go on","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"a"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":1,"estimated":true,"unfinished":true}
    r1 model.failed {"call":"c1","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c2","raw":"reply-s-c2","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"ab"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":1,"estimated":true,"unfinished":true}
    r1 model.failed {"call":"c2","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c3","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c3","raw":"reply-s-c3","usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0},"message":{"role":"assistant","parts":[{"type":"text","text":"abc"}]},"partial":true}
    r1 usage {"model":"scripted/model","cachedTokens":0,"outputTokens":1,"estimated":true,"unfinished":true}
    r1 model.failed {"call":"c3","error":{"kind":"interrupted","message":"Trimtab was interrupted while the model was answering."},"retryInMs":0}
    r1 model.called {"call":"c4","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c4","raw":"reply-s-c4","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"abcd"}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 answer {"summary":"abcd"}
    r1 request.finished {"status":"completed","usage":{"cachedTokens":0,"outputTokens":8,"estimated":true}}
    "#);
}

#[test]
fn a_reply_at_the_output_limit_is_truncated() {
    insta::assert_snapshot!(play(
        "
        > list all primes
        < 2, 3, 5, [max_tokens]
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"list all primes","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","raw":"reply-s-c1","stopReason":"max_tokens","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"2, 3, 5,"}]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 banner {"level":"warning","text":"The reply was cut off at 8,192 tokens, the most this model writes at once (max_output in models.toml). Ask for the rest."}
    r1 answer {"summary":"2, 3, 5,","truncated":true}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_defect_is_told_once_and_the_session_goes_on() {
    insta::assert_snapshot!(play(
        "
        > hello
        <%
        > and now?
        < Hi.
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"hello","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"chat","confidence":1.0,"complexity":0,"reason":"the request is small talk"}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 bug {"kind":"internal","by":"host","message":"Trimtab failed because of an internal error."}
    r1 request.finished {"status":"failed","error":{"kind":"internal","message":"Trimtab failed because of an internal error.","hint":"Nothing was lost: `trimtab sessions show` has the whole conversation. Please report it."},"usage":{"inputTokens":0,"cachedTokens":0,"outputTokens":0}}
    r2 request.received {"text":"and now?","mode":"auto"}
    r2 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r2 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r2 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r2 stage {"stage":"running","label":"Waiting for the model..."}
    r2 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r2 reply.saved {"call":"c2","raw":"reply-s-c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"Hi."}]}}
    r2 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r2 stage {"stage":"finishing","label":"Finishing..."}
    r2 answer {"summary":"Hi."}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}

#[test]
fn a_reply_that_is_withheld_or_empty_says_so() {
    insta::assert_snapshot!(play(
        "
        > one
        <  [content_filtered]
        > two
        <  [end_turn]
        > three
        < hm [pause_turn]
        "
    ), @r#"
    - session.opened {}
    r1 request.received {"text":"one","mode":"auto"}
    r1 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r1 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r1 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r1 stage {"stage":"running","label":"Waiting for the model..."}
    r1 model.called {"call":"c1","model":"scripted/model","attempt":1}
    r1 reply.saved {"call":"c1","stopReason":"content_filtered","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[]}}
    r1 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r1 stage {"stage":"finishing","label":"Finishing..."}
    r1 banner {"level":"warning","text":"The provider withheld part of this reply."}
    r1 answer {"summary":""}
    r1 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r2 request.received {"text":"two","mode":"auto"}
    r2 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r2 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r2 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r2 stage {"stage":"running","label":"Waiting for the model..."}
    r2 model.called {"call":"c2","model":"scripted/model","attempt":1}
    r2 reply.saved {"call":"c2","stopReason":"end_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[]}}
    r2 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r2 stage {"stage":"finishing","label":"Finishing..."}
    r2 banner {"level":"warning","text":"The model sent an empty reply."}
    r2 answer {"summary":""}
    r2 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    r3 request.received {"text":"three","mode":"auto"}
    r3 stage {"stage":"intake","label":"Analyzing request & architecting strategy..."}
    r3 route {"decision":"direct","confidence":1.0,"complexity":0,"categories":["files","commands","web"],"reason":"work in a folder goes straight to the agent"}
    r3 stage {"stage":"routing","label":"Routing intent to files, commands, web tools..."}
    r3 stage {"stage":"running","label":"Waiting for the model..."}
    r3 model.called {"call":"c3","model":"scripted/model","attempt":1}
    r3 reply.saved {"call":"c3","raw":"reply-s-c3","stopReason":"pause_turn","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5},"message":{"role":"assistant","parts":[{"type":"text","text":"hm"}]}}
    r3 usage {"model":"scripted/model","inputTokens":10,"cachedTokens":0,"outputTokens":5,"contextWindow":200000}
    r3 stage {"stage":"finishing","label":"Finishing..."}
    r3 banner {"level":"warning","text":"The model stopped for another reason: pause_turn."}
    r3 answer {"summary":"hm"}
    r3 request.finished {"status":"completed","usage":{"inputTokens":10,"cachedTokens":0,"outputTokens":5}}
    "#);
}
