"use strict";

// Signs that plain fonts do not have are drawn; their characters stay for those who
// hear or copy the page.
const drawn = new Map([
  ["\u{1F4CE}", "attach"], ["\u{1F44D}", "thumb"], ["\u2764", "heart"], ["\u{1F601}", "grin"], ["\u{1F440}", "eyes"],
  ["\u{1F4CD}", "place"], ["\u{1F464}", "person"],
]);

function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

// signs returns nodes that show text, with the signs drawn that are known.
function signs(text) {
  const out = document.createDocumentFragment();
  for (const part of text.split(/(\p{Extended_Pictographic}\uFE0F?)/u)) {
    const name = drawn.get(part.replace("\uFE0F", ""));
    if (!name) {
      out.append(part);
      continue;
    }
    const sign = document.createElement("span");
    sign.className = "sign";
    const word = document.createElement("span");
    word.textContent = part;
    sign.append(icon(name), word);
    out.append(sign);
  }
  return out;
}
