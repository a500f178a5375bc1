use std::time::{Duration, Instant};

use super::*;

fn text(html: &str) -> String {
    read(html).text
}

#[test]
fn a_page_reads_like_a_document() {
    let page = read(
        r##"<!DOCTYPE html>
<html><head><title>A &amp; B
  </title><style>p { color: red }</style><script>if (a < b) { "</p>" }</script></head>
<body><nav><a href="/">Home</a> <a href="#top">Top</a></nav>
<h1>Heading <em>one</em><a class="anchor" href="#one">¶</a></h1>
<p>Some   <b>bold</b>
text&nbsp;with &lt;tags&gt; &mdash; and a <a href="https://example.com/x?a=1&amp;b=2">link</a>.</p>
<p>Second.<br>Next line.</p>
<ul><li>one</li><li>two<ol><li>first</li><li><p>second</p></li></ol></li><li><a href="doc.html">three</a></li></ul>
<pre><code>fn main() {
    &quot;x&quot;
}
</code></pre>
<blockquote><p>Quoted.</p></blockquote>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td></td><td><p>3</p></td></tr></table>
<svg><title>no</title><text>no</text></svg><noscript>no</noscript><!-- no --><img src="x.png" alt="A chart">
<hr><footer>End</footer></body></html>"##,
    );
    assert_eq!(page.title.as_deref(), Some("A & B"));
    insta::assert_snapshot!(page.text, @r#"
    Home (/) Top

    # Heading one

    Some bold text with <tags> — and a link (https://example.com/x?a=1&b=2).

    Second.
    Next line.

    - one
    - two
      1. first
      2. second
    - three (doc.html)

    fn main() {
        "x"
    }

    > Quoted.

    Name | Size
    a |  | 3

    [image: A chart]

    ---

    End
    "#);
}

#[test]
fn addresses_are_given_where_they_lead_somewhere() {
    let html = r##"<a href="https://a.org/">a.org</a>, <a href=rel/x.html>rel</a>, <a href="#x">here</a>,
<a href="javascript:alert(1)">click</a>, <a href="mailto:x@y.z">mail</a>, <a href="/p?q=a:b">query</a>,
<a href="/empty"></a>, <a href='/one'>open <a href="/two">nested</a>, <a HREF="/upper">upper</A>"##;
    insta::assert_snapshot!(text(html), @"a.org, rel (rel/x.html), here, click, mail, query (/p?q=a:b), , open (/one) nested (/two), upper (/upper)");
}

#[test]
fn the_end_of_an_element_may_be_missing() {
    insta::assert_snapshot!(text("<ul><li>one<li>two</ul><p>three<p>four<table><tr><td>a<td>b<tr><td>c</table>x < y & z"), @"
    - one
    - two

    three

    four

    a | b
    c

    x < y & z
    ");
    assert_eq!(text("a<script>b"), "a");
    assert_eq!(text("a<!-- b"), "a");
    assert_eq!(text("a<!-->b"), "ab");
    assert_eq!(text("a<b title='c"), "a");
    assert_eq!(text("a</>b<?php c ?>d"), "abd");
    assert_eq!(text("a<"), "a<");
    assert_eq!(text("<svg/>a<svg><svg></svg>b</svg>c"), "ac");
    assert_eq!(text("</ul></table></pre></blockquote></a>a"), "a");
}

#[test]
fn a_page_of_tables_keeps_its_lines() {
    let html = "<table><tr><td><table><tr><td>1.</td><td>First</td></tr><tr><td>2.</td><td>Second</td></tr></table></td></tr></table>";
    insta::assert_snapshot!(text(html), @"
    1. | First
    2. | Second
    ");
}

#[test]
fn what_cannot_be_seen_is_left_out() {
    assert_eq!(text("a\u{200b}b\u{ad}c&#27;[2Jd\u{feff}"), "abc[2Jd");
}

#[test]
fn a_hostile_page_costs_what_its_length_costs() {
    const LENGTH: usize = 2 * 1024 * 1024;
    for piece in [
        "<",
        "&",
        "<a",
        "<a ",
        "<a href=x>",
        "<a href=x>y",
        "<!--",
        "<ul>",
        "<li>x",
        "<ul><li>x",
        "<svg>",
        "<table><td>x",
        "<script>",
        "</script",
        "<title></",
        "<blockquote>x",
        "<pre>\n",
        "</pre> ",
        "&#",
        "&amp",
        "<a href='",
        "=\"",
        "<p =",
        "<h1><a href=#>#</a>",
        "<td>",
        "</a>",
        "<br>",
        "\u{e4}<\u{e4}",
    ] {
        let html = piece.repeat(LENGTH / piece.len());
        let start = Instant::now();
        let page = read(&html);
        // Far more than a slow machine needs for one pass, far less than any needs for its square.
        assert!(start.elapsed() < Duration::from_secs(10), "{piece:?} took {:?}", start.elapsed());
        assert!(page.text.len() <= 16 * LENGTH, "{piece:?} grew to {}", page.text.len());
    }
}
