package engine

import (
	"cmp"
	"context"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	agentmemory "switchboard/agent/memory"
	"switchboard/configs"
	"switchboard/router/memory"
	"switchboard/store"
)

// newRester makes what does the work of memory while sessions rest. Its calls are paid for as plain ones are.
func (e *Engine) newRester() *memory.Rester {
	return memory.NewRester(memory.Rester{
		Service: e.memory, Rests: e.db.Router(), Owner: e.owner.ID(),
		Ask: func(person string) agentmemory.Asker {
			return e.agents.now.Load().Asker(func(of agent.Models) agent.Models { return e.plain().For(person, of) })
		},
		Indexed: e.embedder.Wake,
		Limits: func() memory.RestLimits {
			s, now := e.settings.Now(), time.Now()
			budget := s.Limits()
			return memory.RestLimits{
				Idle: s.Router.IdleTimeout, Retries: s.Agent.MaxValidationRetries, SumFrom: s.Agent.SummarizeThreshold, MostFacts: s.Agent.KnowledgeMaxFacts,
				Strangers: toldOfStrangers(s), Day: budget.Day(now), DayOver: budget.Over(now),
			}
		},
	})
}

// toldOfStrangers are the channels in whose groups is told what strangers say. Without a language model nobody can tell it in other words.
func toldOfStrangers(s *configs.Settings) (names []string) {
	if cmp.Or(s.Agent.Paraphraser, s.Agent.Summarizer, s.Agent.Planner) == llm.Offline {
		return nil
	}
	for name, ch := range s.Channels {
		if ch.StrangerContext {
			names = append(names, name)
		}
	}
	return names
}

// newEmbedder makes what makes vectors of what is remembered. Its calls are paid for as plain ones are.
func (e *Engine) newEmbedder(of *store.Router) *memory.Embedder {
	return memory.NewEmbedder(&memory.Embedder{
		Vectors: of, Owner: e.owner.ID(), Hide: e.router.Hide, Now: time.Now, Log: e.log,
		Model: func() (name, is string) {
			s := e.settings.Now()
			return s.Embeddings.Model, s.EmbeddingsModel()
		},
		Ask: func(ctx context.Context, person, model string, req llm.Request) (llm.Response, error) {
			return e.plain().For(person, e.agents.now.Load().counted).Complete(ctx, model, req)
		},
	})
}
