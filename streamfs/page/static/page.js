// What a page does by itself: it follows the gateway, counts ages on, searches while one types, and moves by keys.
// All of it works without this file, too, by loading pages.

const live = document.getElementById("live");
let events, heard = 0, ahead = 0;

/** Make one element like another, and leave alone what is alike: focus, scroll, selection and open parts stay. */
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    if (fresh.nodeName === "TR") fresh.classList.add("fresh");
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const named = new Map([...old.children].filter((each) => each.id).map((each) => [each.id, each]));
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const same = wanted.id && named.get(wanted.id);
    if (same && same !== place) old.insertBefore(same, place);
    else if (wanted.id && !same && place) {
      old.insertBefore(wanted, place);
      if (wanted.nodeName === "TR") wanted.classList.add("fresh");
      continue;
    } else if (!place) {
      old.appendChild(wanted);
      continue;
    }
    const next = (same || place).nextSibling;
    morph(same || place, wanted);
    place = next;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html");
}

/** Say how long something is ago, as the server does. */
function lasted(seconds) {
  for (const [least, size, unit] of [[172800, 86400, "days"], [7200, 3600, "h"], [120, 60, "min"]]) {
    if (seconds >= least) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} s`;
}

function countOn() {
  const now = Date.now() / 1000 + ahead;
  for (const time of document.querySelectorAll("time[data-at]")) {
    const text = `${lasted(now - Number(time.dataset.at))} ago`;
    if (time.textContent !== text) time.textContent = text;
  }
  if (events && performance.now() - heard > 11000) lost("no answer from the page's server");
}

function lost(why) {
  if (!live.classList.contains("lost")) {
    live.textContent = `not live since ${new Date().toLocaleTimeString()}: ${why}`;
    live.classList.add("lost");
  }
}

function found() {
  heard = performance.now();
  if (live.classList.contains("lost") || !live.textContent) {
    live.classList.remove("lost");
    live.textContent = "live";
  }
}

/** Make room for a part that the page did not have before. */
function added(name, after) {
  const part = document.createElement("section");
  part.id = `part-${name}`;
  part.dataset.part = "";
  const before = document.getElementById(`part-${after}`);
  if (before && after !== "status") before.after(part);
  else document.getElementById("main").append(part);
  return part;
}

function follow() {
  events?.close();
  heard = performance.now();
  events = new EventSource(`/live${location.pathname}${location.search}`);
  events.addEventListener("time", (event) => {
    ahead = Number(event.data) - Date.now() / 1000;
    found();
    countOn();
  });
  events.addEventListener("part", (event) => {
    found();
    const { name, after, html } = JSON.parse(event.data);
    const part = document.getElementById(`part-${name}`) || added(name, after);
    const fresh = part.cloneNode(false);
    fresh.append(...parsed(html).body.childNodes);
    morph(part, fresh);
    countOn();
  });
  events.onerror = () => lost("the connection broke");
}

/** Show another page of the same kind in place of this one. */
async function swap(url, remember) {
  const answer = await fetch(url);
  if (!answer.ok) return location.assign(url);
  const fresh = parsed(await answer.text());
  if (remember) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  document.title = fresh.title;
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = document.getElementById(part.id);
    if (old) morph(old, part);
  }
  follow();
  countOn();
}

let asked = 0;

async function search(form, remember) {
  const number = ++asked;
  const words = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && !(name === "sort" && value === "name")));
  if (number === asked) await swap(`${form.getAttribute("action")}${words.size ? `?${words}` : ""}`, remember);
}

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.matches("[data-swap]")) return;
  clearTimeout(form.wait);
  form.wait = setTimeout(() => search(form, false), event.target.type === "search" ? 60 : 0);
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.matches("[data-swap]")) {
    event.preventDefault();
    search(form, true);
  } else if (form.matches("[data-act]")) {
    event.preventDefault();
    const words = new URLSearchParams(new FormData(form, event.submitter));
    sessionStorage.setItem("token", words.get("token"));
    const said = form.querySelector(".said");
    said.textContent = "asking …";
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body: words, headers: { Accept: "application/json" } });
      const { ok, text } = await answer.json();
      said.textContent = `${ok ? "done" : "not done"}: ${text}`;
    } catch (error) {
      said.textContent = `not done: ${error.message}`;
    }
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-swap]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const go = link.dataset.go;
  swap(link.href, true).then(() => {
    if (go) {
      (document.querySelector(`a[data-go="${go}"]`) || document.getElementById("main")).focus({ preventScroll: true });
      scrollTo({ top: 0 });
    }
  });
});

addEventListener("popstate", () => location.reload());

const rows = () => [...document.querySelectorAll(".list tbody th a")];

function step(by) {
  const all = rows();
  const place = all.indexOf(document.activeElement);
  all[Math.min(all.length - 1, Math.max(0, place < 0 ? 0 : place + by))]?.focus();
}

const go = (word) => document.querySelector(`a[data-go="${word}"]`)?.click();

const KEYS = {
  "/": () => document.querySelector("input[type=search]")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  n: () => go("next"),
  p: () => go("previous"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches?.("input, select, textarea");
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const isArrow = event.key.startsWith("Arrow");
  if (isArrow && !rows().includes(document.activeElement)) return;
  const tab = /^[1-9]$/.test(event.key) && document.querySelectorAll("nav a")[event.key - 1];
  if (!tab && !KEYS[event.key]) return;
  event.preventDefault();
  tab ? tab.click() : KEYS[event.key]();
});

for (const field of document.querySelectorAll("input[name=token]")) field.value = sessionStorage.getItem("token") || "";
addEventListener("pagehide", () => events?.close());
addEventListener("pageshow", (event) => event.persisted && follow());
countOn();
setInterval(countOn, 1000);
follow();
