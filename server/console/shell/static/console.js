// The console's script. Every page works without it: it saves loading whole pages, and
// adds what only a script can do, which is keyboard shortcuts and sliders.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const fields = ":is(input, select, textarea):not([hidden], [type=hidden], [type=range], [type=checkbox])";
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
      const page = parse(await answer.text());
      page.refused = refusal(answer.status, page);
      return page;
    } catch (error) {
      if (error.name !== "AbortError") return { refused: away };
    }
  }

  // What is typed is not lost (management.md §5.11): a form stays as it is while the server
  // cannot take it, and a dialog says why. Whoever is signed out signs in in another tab.
  const away = { title: "The server cannot be reached", text: "Try again when you are online, or when the server is up again." };
  const signedOut = { title: "You are signed out", text: "Sign in in another tab, then come back and try again.", signIn: true };
  function refusal(status, page) {
    if (status === 401) return signedOut;
    if (status === 204 || page && $("main", page) && !$("[data-failed]", page)) return;
    const said = (selector) => page && $(`[data-failed] ${selector}`, page)?.textContent;
    return { title: said("h1") || "The server cannot take this now", text: said("h1 + p") || "Try again in a moment." };
  }

  // ready returns why the server would not take a form now, or nothing.
  async function ready() {
    try {
      const { status } = await fetch(document.body.dataset.ready);
      if (status === 401 ? document.body.matches(".alone") : status < 300) return;
      return refusal(status);
    } catch {
      return away;
    }
  }

  // hold says why a form stays, until it is tried again.
  function hold({ title, text, signIn }, again) {
    const dialog = $("#held");
    if (dialog.open) return;
    $("h2", dialog).textContent = title;
    $("p", dialog).textContent = `Nothing was sent, and nothing that you have typed is lost. ${text}`;
    $("a", dialog).hidden = !signIn;
    dialog.returnValue = "";
    dialog.onclose = () => dialog.returnValue && again();
    dialog.showModal();
  }
  addEventListener("focus", async () => {
    const dialog = $("#held");
    if (dialog.open && !$("a", dialog).hidden && !(await ready())) dialog.close(); // signed in again
  });

  // Every form that is posted asks first whether the server can take it.
  const taken = new WeakSet();
  let leaving; // the form with which the page is left
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (form.getAttribute("method") !== "post" || form.matches("[data-anytime]") || taken.delete(form)) {
      leaving = form;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    const again = () => form.requestSubmit(button);
    const refused = await ready();
    if (refused) {
      hold(refused, again);
      return;
    }
    taken.add(form);
    again();
  }, true);

  // Whoever leaves a form that has changed is asked.
  const typed = (form) => String(new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.name ?? value])));
  const begun = new WeakMap();
  const changed = (form) => form.matches("[data-unsaved]") || begun.has(form) && begun.get(form) !== typed(form);
  const alike = (form) => [form.id, form.getAttribute("action"), ...all("[name]", form).map((el) => el.name)].join();
  const posted = () => all('form[method="post"]');
  addEventListener("beforeunload", (event) => {
    if (posted().some((form) => form !== leaving && changed(form))) event.preventDefault();
  });
  document.addEventListener("input", () => (leaving = undefined));

  // A form that only changes itself is swapped in place; the focus stays where it was.
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (!form.matches("[data-swap]") || !button || /^(review|save)$/.test(button.value)) return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, button));
    const page = await load(form.action, { method: "POST", body });
    if (!page) return;
    if (page.refused) {
      hold(page.refused, () => form.requestSubmit(button));
      return;
    }
    // What was typed while the server was answering is not lost.
    if (String(new URLSearchParams(new FormData(form, button))) !== String(body)) {
      form.requestSubmit(button);
      return;
    }
    swap("main", page, button);
    $("#form")?.setAttribute("data-unsaved", "");
    preview($("#form"));
  });

  function swap(selector, page, from) {
    const next = $(selector, page), old = $(selector);
    if (!next || !old) return;
    const held = document.activeElement?.id, part = (from?.value || "").split(" "), top = scrollY;
    const known = new Set(all("[id]", old).map((el) => el.id));
    const others = all('form[method="post"]', old).filter((form) => form !== from?.form && changed(form));
    old.replaceWith(document.adoptNode(next));
    for (const form of others) posted().find((other) => alike(other) === alike(form))?.replaceWith(form); // with what is typed there
    leaving = undefined;
    if (page.title) document.title = page.title;
    enhance();
    scrollTo(0, top);
    const fresh = all("fieldset[id]").filter((el) => !known.has(el.id)).at(-1);
    const invalid = $("[aria-invalid]");
    const target = (held && document.getElementById(held)) || invalid ||
      (fresh && !/^(up|down|remove)$/.test(part[0]) && $(fields, fresh)) ||
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
      out.value = loaded < total ? `${Math.floor((loaded / total) * 100)}% sent` : "Sent; it is being stored";
    };
    request.onload = () => {
      if (request.responseURL !== form.action) {
        location.assign(request.responseURL);
        return;
      }
      done("");
      const page = parse(request.responseText), refused = refusal(request.status, page);
      if (refused) hold(refused, () => form.requestSubmit(event.submitter));
      else swap("main", page, event.submitter);
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
      if (page?.refused) hold(page.refused, () => live(form));
      if (!page || page.refused) return;
      const id = form.dataset.live, next = page.getElementById(id), tabs = $(".tabs", page);
      if (!next) return;
      document.getElementById(id).replaceWith(document.adoptNode(next));
      if (tabs) $(".tabs")?.replaceWith(document.adoptNode(tabs));
      history.replaceState(null, "", url);
    });
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
  document.addEventListener("input", (event) => preview(event.target.closest("#form")));
  function preview(form) {
    const panel = $("#effect");
    if (!form || !panel) return;
    clearTimeout(asking);
    question?.abort();
    const { signal } = question = new AbortController();
    panel.ariaBusy = "true";
    asking = setTimeout(async () => {
      const body = new URLSearchParams(new FormData(form));
      body.set("do", "preview");
      try {
        const answer = await fetch(form.action, { method: "POST", body, signal });
        if (answer.status !== 200) {
          $("[data-effect]", panel).textContent = `${refusal(answer.status).title}.`;
          panel.hidden = false;
          return;
        }
        const page = parse(await answer.text());
        for (const el of all("[data-words]", page)) { // the sentences of conditions
          const words = $(`#${CSS.escape(el.dataset.words)} .words`);
          if (words) words.textContent = el.textContent;
          el.remove();
        }
        if (!page.body.childElementCount) return; // the form is not complete
        $("[data-effect]", panel).replaceChildren(...page.body.childNodes);
        panel.hidden = false;
      } catch (error) {
        if (error.name !== "AbortError") $("[data-effect]", panel).textContent = away.title + ".";
      } finally {
        if (!signal.aborted) panel.ariaBusy = null;
      }
    }, 500);
  }

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
    let refused;
    try {
      const answer = await sent;
      button.disabled = false;
      if (answer.redirected) {
        location.assign(answer.url);
        return;
      }
      const page = parse(await answer.text());
      history.replaceState(null, "", here);
      refused = refusal(answer.status, page);
      if (!refused) {
        swap("main", page);
        return;
      }
    } catch {
      history.replaceState(null, "", here);
      refused = away;
    }
    ended = true;
    if ($("main") !== before) $("main").replaceWith(before);
    button.disabled = false;
    hold(refused, () => form.requestSubmit(button));
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
        if (answer.ok) page = parse(await answer.text());
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
    for (const out of all("[data-total]")) {
      const sum = all(`[data-sum="${out.dataset.total}"]`).reduce((n, el) => n + (Number(el.value) || 0), 0);
      out.value = `${Math.round(sum * 100) / 100}% together` + (Math.abs(sum - 100) > 0.001 ? ", want 100%" : "");
    }
  }

  // What people take elsewhere can be copied.
  function copyable(el) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${el.dataset.copy || "the text"}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(el.value ?? el.textContent);
        button.textContent = "Copied";
      } catch { // without HTTPS, browsers offer no clipboard
        el.select ? el.select() : getSelection().selectAllChildren(el);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    el.after(button);
    el.dataset.copied = "";
  }

  // What is searched for from every page is found without leaving it.
  const finder = $("#find");
  let looking;
  async function look() {
    looking?.abort();
    looking = new AbortController();
    const out = $("[data-found]", finder);
    try {
      const url = $("[data-find]").href + "?q=" + encodeURIComponent($("input", finder).value);
      const answer = await fetch(url, { signal: looking.signal, headers: { Accept: "text/html" } });
      const page = parse(await answer.text()), list = $("#found", page);
      if (list) out.replaceChildren(...list.childNodes);
      else out.textContent = `${refusal(answer.status, page)?.title || away.title}.`;
    } catch (error) {
      if (error.name !== "AbortError") out.textContent = away.title + ".";
    }
  }
  function openFinder() {
    if (!finder || finder.open) return;
    finder.showModal();
    $("input", finder).select();
    look();
  }
  $("[data-find]")?.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openFinder();
  });
  let pause;
  finder?.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(look, 120);
  });
  finder?.addEventListener("click", (event) => event.target === finder && finder.close());
  finder?.addEventListener("keydown", (event) => {
    const links = all("[data-open]", finder), on = links.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) (links[on + step] || (step < 0 ? $("input", finder) : links[on]))?.focus();
    else if (event.key === "Enter" && on < 0) links[0]?.click();
    else return;
    if (step || on < 0) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey || $("dialog[open]")) return;
    event.preventDefault();
    openFinder();
  });

  // Keyboard.
  let at = -1, going = 0;
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
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !$("dialog[open]")) {
      const primary = all("button.primary", document.activeElement.form || $("main"));
      if (primary.length !== 1) return;
      event.preventDefault();
      primary[0].click();
      return;
    }
    if (event.key === "Escape" && typing(document.activeElement) && !$("dialog[open]")) {
      document.activeElement.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(document.activeElement) || $("dialog[open]")) return;
    const key = event.key;
    const to = Date.now() - going < 1500 && $(`[data-go="${CSS.escape(key)}"]`);
    going = key === "g" ? Date.now() : 0;
    const named = /^[/ne]$/.test(key) && $(`[data-key="${key}"]`);
    if (to) to.click();
    else if (named) key === "/" ? named.focus() : named.click();
    else if (key === "Escape") all(".crumbs a").at(-1)?.click();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "?") $("#keys")?.showModal();
    else return;
    event.preventDefault();
  });

  function enhance() {
    for (const form of posted()) if (!begun.has(form)) begun.set(form, typed(form));
    for (const el of all("[data-slider]")) {
      el.hidden = false;
      el.value = document.getElementById(el.dataset.slider).value;
    }
    for (const el of all("[data-copy]:not([data-copied])")) copyable(el);
    total();
  }
  enhance();
  // A link to a part of a form leads to its first field. Until the page is loaded, the browser takes the focus away.
  addEventListener("load", () => {
    const part = document.getElementById(location.hash.slice(1));
    const first = part?.matches("form *") ? $(fields, part) : null;
    first?.focus();
    first?.select?.();
  });
  $("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (document.body.matches("[data-posted]")) for (const form of all("form[id][method=post]")) form.dataset.unsaved = "";
  if ($("[data-poll]")) poll(location.href, () => false);
})();
