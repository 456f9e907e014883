package interview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"switchboard/agent/llm"
	"switchboard/cmd/switchboard/models"
	"switchboard/configs"
)

// A modelServer is one that init offers.
type modelServer struct {
	name, title string
	keys        string // where it gives keys; empty: it has an address of the person's
	base        string
	like        *regexp.Regexp // models to begin with
}

// modelServers are those with their own addresses, and last any other.
//
// Source: https://openrouter.ai/docs/quickstart, https://platform.openai.com/docs/api-reference/authentication,
// https://platform.claude.com/docs/en/cli-sdks-libraries/libraries/openai-sdk,
// https://github.com/ollama/ollama/blob/main/docs/openai.md.
var modelServers = []modelServer{
	{"openrouter", "OpenRouter: one key, models of many makers", "https://openrouter.ai/settings/keys", "https://openrouter.ai/api/v1", regexp.MustCompile(`^openrouter/auto$`)},
	{"openai", "OpenAI", "https://platform.openai.com/api-keys", "https://api.openai.com/v1", regexp.MustCompile(`^gpt-[0-9.]+(-mini)?$`)},
	{"anthropic", "Anthropic", "https://platform.claude.com/settings/keys", "https://api.anthropic.com/v1", regexp.MustCompile(`^claude-.*sonnet`)},
	{"local", "another server, by its address: Ollama on this machine, llama.cpp, LM Studio, …", "", "http://127.0.0.1:11434/v1", nil},
}

// shownModels are so many of a list at once.
const shownModels = 12

// otherThanChat are models that do not answer questions.
var otherThanChat = regexp.MustCompile(`(?i)embed|rerank|whisper|tts|dall-e|moderation`)

// model asks which model is to think.
func (q *Interview) model() error {
	q.Say("\nA language model")
	for i, s := range modelServers {
		q.Say("  %d  %s", i+1, s.title)
	}
	takes := noneYet + ": a built-in one that knows little"
	if q.planner != llm.Offline {
		takes = q.planner
	}
	for {
		given, err := q.ask(false, "Which one, 1 to %d [%s]: ", len(modelServers), takes)
		switch {
		case err != nil:
			return err
		case given == "":
			q.sayNoModel("")
			return nil
		}
		n, err := strconv.Atoi(given)
		address := ""
		switch {
		case err == nil && n >= 1 && n <= len(modelServers):
		case addressOf(given) != "" && strings.ContainsAny(given, ":/"):
			n, address = len(modelServers), addressOf(given)
		default:
			q.Say("  Write a number from 1 to %d, or the address of a server. You type the key at the next question; it is not shown.", len(modelServers))
			continue
		}
		return q.server(modelServers[n-1], address)
	}
}

// sayNoModel says which model is used when the questions about it end without one, and that the key typed for
// it is not saved; key empty: none was typed.
func (q *Interview) sayNoModel(key string) {
	text := "No model is set up; \"switchboard init model\" adds one later."
	if q.planner != llm.Offline {
		text = fmt.Sprintf("The model stays %s.", q.planner)
	}
	if key != "" && key != llm.NoKey.Reveal() {
		text += " The key that you typed is not saved."
	}
	q.Say("  %s", text)
}

// server asks for a key or an address, and then for a model.
func (q *Interview) server(s modelServer, address string) (err error) {
	p := configs.AnsweredProvider{Name: s.name, BaseURL: s.base}
	wantsKey := s.keys != ""
	if wantsKey {
		q.Say("  Keys: %s", s.keys)
	} else {
		p.APIKey = llm.NoKey.Reveal() // until it wants one
		if p.BaseURL = address; address == "" {
			if p.BaseURL, _, err = q.address(s.base, "which is Ollama's"); err != nil {
				return err
			}
		}
	}
	for {
		if wantsKey {
			if p.APIKey, err = q.key(p); err != nil || p.APIKey == "" {
				return err
			}
		}
		var list []string
		settings, err := q.Settings(q.with(p, "any"))
		if err == nil {
			list, err = llm.List(q.ctx, settings.LLM.Providers[p.Name])
		}
		if err != nil && (errors.Is(err, llm.ErrUnauthorized) || q.ctx.Err() == nil) {
			q.Say("  FAIL  %v", err)
		}
		switch wantsKey = errors.Is(err, llm.ErrUnauthorized); {
		case wantsKey:
			continue
		case q.ctx.Err() != nil:
			return ErrLeft
		case err != nil && s.keys == "":
			q.Say("        fix: is it running, and can this machine reach it? Give another address, or press Enter to name a model anyway.")
			address, kept, err := q.address(p.BaseURL, "as it is")
			if err != nil {
				return err
			}
			if !kept { // a key is for the server that it was typed for
				p.BaseURL, p.APIKey = address, llm.NoKey.Reveal()
				continue
			}
		case err != nil:
			q.Say("        fix: is it running, and can this machine reach it? You can name a model anyway.")
		case list == nil:
			q.Say("  It does not say which models it has.")
		default:
			q.Say("  ok    it answers; models: %d", len(list))
		}
		if wantsKey, err = q.choose(s, p, list); err != nil || !wantsKey {
			return err
		}
	}
}

// address asks for a server's; the note says what Enter takes. Kept: it was Enter.
func (q *Interview) address(enter, note string) (address string, kept bool, err error) {
	for {
		given, err := q.ask(false, "  Its address [%s, %s]: ", enter, note)
		if err != nil {
			return "", false, err
		}
		if given = pasted(given); given == "" {
			return enter, true, nil
		}
		if address = addressOf(given); address != "" {
			return address, false, nil
		}
		q.Say("  That is not an address. An address looks like this: %s", enter)
	}
}

// addressOf is where the API of a server is that somebody named; empty: it is no address.
func addressOf(text string) string {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(text, " \t") {
		return ""
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/chat/completions")
	if u.Path == "" {
		u.Path = "/v1"
	}
	return u.String()
}

// key asks for one of that server's; empty: the person goes on without.
func (q *Interview) key(p configs.AnsweredProvider) (string, error) {
	for {
		given, err := q.ask(true, "  Key (not shown) [%s]: ", noneYet)
		if err != nil {
			return "", err
		}
		p.APIKey = pasted(given)
		settings, err := q.Settings(q.with(p, "any"))
		switch {
		case p.APIKey == "":
			q.sayNoModel("")
			return "", nil
		case err != nil: // the file is not there
			q.Say("  FAIL  %s", faultTexts(err))
		case settings.LLM.Providers[p.Name].APIKey == "":
			q.Say("  FAIL  %s is not set, or empty", p.APIKey)
		case strings.ContainsAny(settings.LLM.Providers[p.Name].APIKey.Reveal(), " \t\n"):
			q.Say("  FAIL  a key has no spaces in it")
		default:
			return p.APIKey, nil
		}
	}
}

// with are the answers with a model of that server.
func (q *Interview) with(p configs.AnsweredProvider, model string) configs.Answers {
	answers := q.Answers
	answers.Provider, answers.Model = p, model
	return answers
}

// choose asks for a model and tries it. Refused: the key is not good after all.
func (q *Interview) choose(s modelServer, p configs.AnsweredProvider, list []string) (refused bool, err error) {
	enter := firstOf(s, list)
	shown := list
	if enter != "" {
		shown = append([]string{enter}, slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == enter })...)
	}
	prompt, kept := "Name of the model, as that server calls it", ""
	if len(list) > 0 {
		prompt = "A model: its number, its name, or a part of its name"
	}
	q.sayModels(shown)
	for {
		given, err := q.ask(false, "  %s [%s]: ", prompt, cmp.Or(enter, noneYet))
		if err != nil {
			return false, err
		}
		model := cmp.Or(pasted(given), enter)
		switch n, err := strconv.Atoi(model); {
		case model == "":
			q.sayNoModel(p.APIKey)
			return false, nil
		case model == keepWord && kept != "":
			q.Answers = q.with(p, kept)
			return false, nil
		case err == nil && n >= 1 && n <= min(len(shown), shownModels):
			model = shown[n-1]
		case len(list) == 0 || slices.Contains(list, model):
		default:
			if some := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return !strings.Contains(strings.ToLower(id), strings.ToLower(model)) }); len(some) > 0 {
				shown = some
				q.sayModels(shown)
			} else {
				q.Say("  It has no model with %q in its name.", model)
			}
			continue
		}
		q.Say("  Asking %s for a small plan …", model)
		if err = q.tryChosen(p, model); err == nil {
			q.Answers = q.with(p, model)
			return false, nil
		}
		if q.ctx.Err() != nil {
			return false, ErrLeft
		}
		q.Say("  FAIL  %s", reason(err))
		if errors.Is(err, llm.ErrUnauthorized) || errors.Is(err, llm.ErrNoKey) {
			return true, nil
		}
		kept, enter = model, ""
		q.Say("  Choose another one, write %q to take this one all the same, or press Enter to go on without.", keepWord)
	}
}

func (q *Interview) tryChosen(p configs.AnsweredProvider, model string) error {
	remarks, err := q.TryModel(q.ctx, p, model)
	if err != nil {
		return err
	}
	for i, seen := range remarks {
		if seen.Fails {
			return fmt.Errorf("this model does not answer in the form that Switchboard needs: it %s\n        fix: %s", seen.Text, seen.Fix)
		}
		q.Say("  WARN  it %s", seen.Text)
		if !slices.ContainsFunc(remarks[i+1:], func(later models.Remark) bool { return later.Fix == seen.Fix }) {
			q.Say("        fix: %s", seen.Fix)
		}
	}
	return nil
}

// reason is why a model could not be tried, in words.
func reason(err error) string {
	if setup, ok := errors.AsType[*llm.SetupError](err); ok {
		return setup.Reason
	}
	return err.Error()
}

// TryModel asks a model of a server for a small plan.
func (q *Interview) TryModel(ctx context.Context, p configs.AnsweredProvider, model string) ([]models.Remark, error) {
	settings, err := q.Settings(q.with(p, model))
	if err != nil {
		return nil, err
	}
	list, err := models.New(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer list.Close()
	_, remarks, err := models.Try(ctx, settings, list, settings.Agent.Planner)
	return remarks, err
}

// firstOf is the model to begin with; empty: there is none.
func firstOf(s modelServer, list []string) string {
	i := -1
	if s.like != nil {
		i = slices.IndexFunc(list, s.like.MatchString)
	}
	if i < 0 {
		i = slices.IndexFunc(list, func(id string) bool { return !otherThanChat.MatchString(id) })
	}
	if i < 0 {
		return ""
	}
	return list[i]
}

func (q *Interview) sayModels(list []string) {
	for i, id := range list[:min(len(list), shownModels)] {
		q.Say("  %3d  %s", i+1, id)
	}
	if more := len(list) - shownModels; more > 0 {
		q.Say("       and %d more", more)
	}
}
