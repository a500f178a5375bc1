// What pages can do to the server in a real browser that is logged in there: the server's own, and
// those of strangers. Prints one JSON object; the Rust test beside this says what it must be.
//
// Usage: node origins.mjs SERVER LOGIN SESSION

import http from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [server, login, session] = process.argv.slice(2);
const port = new URL(server).port;

// A stranger's page. It is served under a foreign name, and under the server's own name at another port.
const stranger = http.createServer((request, response) => {
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><title>stranger</title><body>");
});
await new Promise((done) => stranger.listen(0, "127.0.0.1", done));
const strange = stranger.address().port;

const folder = mkdtempSync(join(tmpdir(), "trimtab-browser-"));
const browser = await chromium.launchPersistentContext(folder, {
  executablePath: process.env.TRIMTAB_CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP rebound.example 127.0.0.1",
  ],
});

browser.setDefaultTimeout(60_000);

// Everything that a page can try without leaving; each gives what it has read, or "nothing".
async function attempts(page) {
  return page.evaluate(async ({ server, session }) => {
    const read = async (ask) => {
      try {
        const answer = await ask();
        const text = await answer.text();
        return answer.type === "opaque" || text === "" ? "nothing" : `${answer.status} ${text.slice(0, 80)}`;
      } catch {
        return "nothing";
      }
    };
    const json = { "content-type": "application/json" };
    const element = (name, fields) =>
      new Promise((done) => {
        const made = document.createElement(name);
        try {
          Object.assign(made, fields);
        } catch {
          // The server's own page may not even name a script.
          return done("nothing");
        }
        made.onload = () => done("loaded");
        made.onerror = () => done("nothing");
        document.body.append(made);
        setTimeout(() => done("nothing"), 30_000);
      });
    const frame = new Promise((done) => {
      const made = document.createElement("iframe");
      made.src = `${server}/`;
      made.onload = () => {
        try {
          done(made.contentDocument?.body?.innerText.includes("API") ? "shown" : "nothing");
        } catch {
          done("nothing");
        }
      };
      document.body.append(made);
      setTimeout(() => done("nothing"), 30_000);
    });
    const events = new Promise((done) => {
      const source = new EventSource(`${server}/api/sessions/${session}/events`, { withCredentials: true });
      source.onmessage = (event) => done(`event ${event.data.slice(0, 40)}`);
      source.onerror = () => done("nothing");
      setTimeout(() => done("nothing"), 30_000);
    });
    return {
      get: await read(() => fetch(`${server}/api/sessions`, { credentials: "include" })),
      post: await read(() =>
        fetch(`${server}/api/sessions`, { method: "POST", credentials: "include", headers: json, body: "{}" })),
      plain: await read(() =>
        fetch(`${server}/api/sessions`, { method: "POST", mode: "no-cors", credentials: "include", body: "{}" })),
      image: await element("img", { src: `${server}/api/sessions` }),
      script: await element("script", { src: `${server}/api/sessions` }),
      events: await events,
      frame: await frame,
    };
  }, { server, session });
}

const found = {};
try {
  const own = await browser.newPage();
  await own.goto(login);
  found.address = own.url().replace(server, "");
  const cookies = await browser.cookies(server);
  found.cookie = cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }));
  found.visible = await own.evaluate(() => document.cookie);
  found.own = await attempts(own);

  found.strangers = {};
  for (const host of ["evil.example", "127.0.0.1", "localhost"]) {
    const page = await browser.newPage();
    await page.goto(`http://${host}:${strange}/`);
    const tried = await attempts(page);
    // A form takes the whole page along; what it leads to is the server's refusal.
    await page.evaluate((server) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "POST", action: `${server}/api/sessions`, enctype: "text/plain" });
      form.innerHTML = '<input name=\'{"folder":"/tmp","x":"\' value=\'"}\'>';
      document.body.append(form);
      form.submit();
    }, server);
    await page.waitForURL(`${server}/**`);
    tried.form = JSON.parse(await page.evaluate(() => document.body.innerText)).error.code;
    found.strangers[host] = tried;
    await page.close();
  }

  const rebound = await browser.newPage();
  const answer = await rebound.goto(`http://rebound.example:${port}/api/sessions`);
  found.rebound = answer.status();
  found.sessions = await own.evaluate(async () => (await (await fetch("/api/sessions")).json()).sessions.length);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
  stranger.close();
  rmSync(folder, { recursive: true, force: true });
}
