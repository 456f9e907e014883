"use strict";

// formatted returns nodes that show text with its marks. Offsets count UTF-16
// units, as JavaScript's strings do. Everything from outside becomes text nodes.
function formatted(text, marks) {
  const rank = (e) => ["quote", "folded"].includes(e.type) ? 0 : ["code", "pre"].includes(e.type) ? 2 : 1;
  const sorted = [...(marks || [])].sort((a, b) =>
    a.from - b.from || b.length - a.length || rank(a) - rank(b));
  const build = (from, to, list) => {
    const out = document.createDocumentFragment();
    let at = from;
    for (let i = 0; i < list.length;) {
      const e = list[i];
      const end = Math.min(e.from + e.length, to);
      let next = i + 1;
      while (next < list.length && list[next].from < end) next++;
      out.append(signs(text.slice(at, e.from)));
      const node = shell(e, text.slice(e.from, end));
      (node.querySelector("code") || node).append(build(e.from, end, list.slice(i + 1, next)));
      out.append(node);
      const block = e.type === "pre" || ["quote", "folded"].includes(e.type);
      at = block && text[end] === "\n" ? end + 1 : end; // a block ends its line by itself
      i = next;
    }
    out.append(signs(text.slice(at, to)));
    return out;
  };
  return build(0, text.length, sorted);
}

// shell is the element of a mark, without what stands in it.
function shell(e, inside) {
  const make = (tag, cls) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    return node;
  };
  const link = (href) => {
    const node = make("a");
    if (/^(https?|mailto|tel|tg):/i.test(href)) {
      node.href = href;
      node.target = "_blank";
      node.rel = "noopener noreferrer";
    }
    node.title = href;
    return node;
  };
  switch (e.type) {
    case "bold": return make("strong");
    case "italic": return make("em");
    case "underline": return make("u");
    case "strike": return make("s");
    case "code": return make("code");
    case "quote": return make("blockquote");
    case "folded": {
      const node = make("blockquote", "folded");
      node.addEventListener("click", () => node.classList.toggle("folded"));
      return node;
    }
    case "spoiler": {
      const node = make("span", "spoiler");
      node.tabIndex = 0;
      node.addEventListener("click", () => node.classList.add("open"));
      return node;
    }
    case "pre": {
      const node = make("pre");
      if (e.language) node.dataset.language = e.language;
      node.append(make("code"));
      return node;
    }
    case "link": return link(e.url);
    case "email": return link("mailto:" + inside);
    case "command": return make("span", "named command");
    default: return make("span", "named"); // mention, hashtag, …
  }
}
