// The console's script. Every page works without it: it saves loading whole pages, and
// adds what only a script can do, which is keyboard shortcuts and sliders.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const typing = (el) => el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));

  // load returns the document at an address, or nothing if the browser has gone there.
  let running;
  async function load(url, options) {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      const answer = await fetch(url, { ...options, signal: mine.signal, headers: { Accept: "text/html" } });
      if (answer.redirected) {
        location.assign(answer.url);
        return;
      }
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  // A form that only changes itself is swapped in place; the focus stays where it was.
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (!form.matches("[data-swap]") || !button || /^(review|save)$/.test(button.value)) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, button));
    let page;
    try {
      page = await load(form.action, { method: "POST", body });
    } catch {
      form.submit();
      return;
    }
    if (!page) return;
    // What was typed while the server was answering is not lost.
    if (String(new URLSearchParams(new FormData(form, button))) === String(body)) swap("main", page, button);
    else form.requestSubmit(button);
  });

  function swap(selector, page, from) {
    const next = $(selector, page), old = $(selector);
    if (!next || !old) return;
    const held = document.activeElement?.id, part = (from?.value || "").split(" "), top = scrollY;
    const known = new Set(all("[id]", old).map((el) => el.id));
    old.replaceWith(document.adoptNode(next));
    if (page.title) document.title = page.title;
    enhance();
    scrollTo(0, top);
    const fresh = all("fieldset[id]").filter((el) => !known.has(el.id)).at(-1);
    const invalid = $("[aria-invalid]");
    const target = (held && document.getElementById(held)) || invalid || (fresh && $("input:not([type=hidden], [type=range], [type=checkbox]), select", fresh)) ||
      (part[1] && $(`button[value$="${CSS.escape(part[1])}"]`)) || $("main");
    target.focus({ preventScroll: target === $("main") });
  }

  // A file that is sent shows how far it is.
  document.addEventListener("submit", (event) => {
    const form = event.target, bar = $("progress", form), out = $("[data-sent]", form);
    if (!form.matches("[data-upload]")) return;
    event.preventDefault();
    const request = new XMLHttpRequest(), buttons = all("button", form);
    const done = (text) => {
      bar.hidden = true;
      out.value = text;
      for (const button of buttons) button.disabled = false;
    };
    request.upload.onprogress = ({ loaded, total }) => {
      bar.max = total;
      bar.value = loaded;
      out.value = loaded < total ? `${Math.floor((loaded / total) * 100)} % sent` : "Sent; it is being stored";
    };
    request.onload = () => {
      if (request.responseURL !== form.action) {
        location.assign(request.responseURL);
        return;
      }
      done("");
      swap("main", new DOMParser().parseFromString(request.responseText, "text/html"), event.submitter);
    };
    request.onerror = () => done("The server could not be reached. Send it again: what is in already does no harm.");
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.send(new FormData(form));
    bar.hidden = false;
    for (const button of buttons) button.disabled = true;
  });

  // Filters of a list apply while they are changed.
  let waiting;
  const live = (form) => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const url = form.getAttribute("action") + (query.size ? "?" + query : "");
    load(url).then((page) => {
      if (!page) return;
      const id = form.dataset.live, next = page.getElementById(id), tabs = $(".tabs", page);
      if (!next) return;
      document.getElementById(id).replaceWith(document.adoptNode(next));
      if (tabs) $(".tabs")?.replaceWith(document.adoptNode(tabs));
      history.replaceState(null, "", url);
    }, () => form.submit());
  };
  document.addEventListener("input", (event) => {
    const form = event.target.closest("[data-live]");
    if (form) {
      clearTimeout(waiting);
      waiting = setTimeout(live, event.target.type === "search" ? 200 : 0, form);
    }
    const slider = event.target.dataset?.slider;
    if (slider) document.getElementById(slider).value = event.target.value;
    const range = event.target.id && $(`[data-slider="${CSS.escape(event.target.id)}"]`);
    if (range) range.value = event.target.value;
    if (event.target.dataset?.sum) total();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-refresh]")) $('button[value="edit"]', event.target.form)?.click();
  });

  // While a form is edited, the server says who changes.
  let asking, question;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("#form"), panel = $("#effect");
    if (!form || !panel) return;
    clearTimeout(asking);
    asking = setTimeout(async () => {
      question?.abort();
      question = new AbortController();
      const body = new URLSearchParams(new FormData(form));
      body.set("do", "preview");
      try {
        const answer = await fetch(form.action, { method: "POST", body, signal: question.signal });
        if (answer.status !== 200 || answer.redirected) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const el of all("[data-words]", page)) { // the sentences of conditions
          const words = $(`#${CSS.escape(el.dataset.words)} .words`);
          if (words) words.textContent = el.textContent;
          el.remove();
        }
        if (!page.body.childElementCount) return;
        $("[data-effect]", panel).replaceChildren(...page.body.childNodes);
        panel.hidden = false;
      } catch (error) {
        if (error.name !== "AbortError") panel.hidden = true;
      }
    }, 500);
  });

  // A form whose answer takes long says that it was sent.
  document.addEventListener("submit", (event) => {
    for (const el of all("[data-busy]", event.target)) el.textContent = el.dataset.busy;
  });

  // A form whose work takes long is sent while another page says how far it is. That page
  // can be reloaded, and the server goes on. What the form is answered with comes last.
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter, run = form.dataset.run;
    if (!run || button?.value !== "import") return;
    event.preventDefault();
    const before = $("main"), here = location.href;
    let ended = false;
    const sent = fetch(form.getAttribute("action"), { method: "POST", body: new FormData(form, button) });
    sent.catch(() => {}).then(() => (ended = true));
    button.disabled = true;
    poll(run, () => ended);
    let answer;
    try {
      answer = await sent;
      if (answer.redirected) {
        location.assign(answer.url);
        return;
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      history.replaceState(null, "", here);
      swap("main", page);
    } catch {
      history.replaceState(null, "", here);
      $("main").replaceWith(before);
      button.disabled = false;
      delete form.dataset.run;
      form.requestSubmit(button);
    }
  });

  // poll shows how far something is, until it has ended.
  async function poll(url, ended) {
    for (;;) {
      await new Promise((wake) => setTimeout(wake, Number($("[data-poll]")?.dataset.poll) || 700));
      if (ended()) return;
      if (document.hidden) continue;
      let page;
      try {
        const answer = await fetch(url, { headers: { Accept: "text/html" } });
        if (answer.ok) page = new DOMParser().parseFromString(await answer.text(), "text/html");
      } catch { /* the server may be back at the next time */ }
      if (!page || ended()) continue;
      const next = $("[data-poll]", page), old = $("[data-poll]");
      if (!next) {
        location.assign(url);
        return;
      }
      if (old) {
        old.replaceWith(document.adoptNode(next));
      } else {
        $("main").replaceWith(document.adoptNode($("main", page)));
        document.title = page.title;
        history.replaceState(null, "", url);
      }
    }
  }

  function total() {
    const out = $("[data-total=shares]");
    if (!out) return;
    const sum = all("[data-sum=shares]").reduce((n, el) => n + (Number(el.value) || 0), 0);
    out.value = `${Math.round(sum * 100) / 100} % together` + (Math.abs(sum - 100) > 0.001 ? ", want 100 %" : "");
  }

  // Keyboard.
  let at = -1;
  function move(by) {
    const rows = all("[data-row]");
    if (!rows.length) return;
    rows[at]?.classList.remove("at");
    at = Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[at].classList.add("at");
    $("[data-open]", rows[at]).focus({ preventScroll: true });
    rows[at].scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(document.activeElement) || $("dialog[open]")) return;
    const key = event.key;
    const named = (key === "/" || key === "n") && $(`[data-key="${key}"]`);
    if (named) key === "/" ? named.focus() : named.click();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "?") $("#keys")?.showModal();
    else return;
    event.preventDefault();
  });

  function enhance() {
    for (const el of all("[data-slider]")) {
      el.hidden = false;
      el.value = document.getElementById(el.dataset.slider).value;
    }
    total();
  }
  enhance();
  if ($("[data-poll]")) poll(location.href, () => false);
})();
