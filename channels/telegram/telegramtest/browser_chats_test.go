package telegramtest_test

import (
	"strings"
	"testing"

	"switchboard/channels/platformtest/pagetest"
	"switchboard/channels/telegram/telegramtest"
)

// gap is how many lines lie between a quote's last and the text after it.
const gap = `(() => { const block = last("mine").querySelector("blockquote");
	const top = (node, at) => {
		const range = document.createRange();
		range.setStart(node, at);
		range.setEnd(node, at + 1);
		return range.getBoundingClientRect().top;
	};
	const next = block.nextSibling;
	return (top(next, next.textContent.search(/\S/)) - top(block.lastChild, block.lastChild.length - 1)) / parseFloat(getComputedStyle(block).lineHeight) - 1 })()`

func TestPageShowsTheChatsOfWhoeverIsChosen(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	ada := s.Furnish()
	p := pagetest.Open(t, s.URL()+"/")
	p.Say("from Ada")
	p.Await("what Ada wrote", `last("mine").textContent.includes("from Ada")`)
	bob := itoa(ada.ID + 1)
	p.Do(`document.getElementById("user").value = "` + bob + `"; document.getElementById("user").dispatchEvent(new Event("change"))`)
	p.Await("Bob's chat", `!last("mine") && here.user === "`+bob+`" && view.chats[0].id === here.user`)

	// The rows look as before and are other chats.
	p.Do(`document.querySelector("#chats .direct").click()`)
	p.Say("from Bob")
	p.Await("what Bob wrote", `last("mine").textContent.includes("from Bob") && here.chat === "`+bob+`" && document.getElementById("mention").hidden`)
	p.Do(`document.querySelector("#chats .group").click()`)
	p.Await("the group", `document.getElementById("title").textContent === "Friends" && here.chat < 0`)
	p.Do(`document.querySelector("#chats .direct").click()`)
	p.Await("Bob's chat again", `last("mine").textContent.includes("from Bob") && here.chat === here.user`)

	p.Do(`last("mine").querySelector("[title=Delete]").click()`)
	p.Await("the message is gone", `!last("mine")`)
	p.Await("what that means", `document.getElementById("toast").textContent.includes("not told of deleted")`)

	p.Do(`document.getElementById("text").value = "` + strings.Repeat("word ", 1000) + `"; document.getElementById("composer").requestSubmit()`)
	p.Await("two messages", `document.querySelectorAll("#messages > li.mine").length === 2 && document.getElementById("text").value === ""`)

	text := "a quote with bold in it\nand a second line"
	s.Post(telegramtest.Post{Chat: ada.ID + 1, Text: "before\n\n" + text + "\n\nthen done\nto do", Entities: []telegramtest.Entity{
		{Type: "blockquote", Offset: 8, Length: len(text)}, {Type: "bold", Offset: 21, Length: 4},
	}})
	p.Await("the quote", `last("mine").querySelector("blockquote strong").textContent === "bold"`)
	if lines := pagetest.Evaluate[float64](p, gap); lines < 1 || lines > 1.2 {
		t.Errorf("%.2f lines are empty after a quote, want one", lines)
	}
	p.Shoot("bob")
}
