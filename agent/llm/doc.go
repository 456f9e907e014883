// Package llm talks to language models: one Client a provider behind Models,
// which resolves the names of the settings (an alias, "provider/model", or
// "offline") and counts what a call used.
//
// It imports nothing else of this module and knows neither prompts nor plans;
// the agent is the caller. The offline model is a transport under the same
// client and lives in llm/offline; cmd puts the two together.
package llm
