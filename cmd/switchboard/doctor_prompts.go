package main

import (
	"switchboard/agent"
	"switchboard/configs"
)

// checkPrompts says what is wrong with the prompts of one's own; nothing where all are
// fine.
func checkPrompts(settings *configs.Settings) []finding {
	faults, err := agent.PromptFaults(settings.DataDir)
	if err != nil {
		return []finding{{Check: "prompts", Text: err.Error(), Mend: "let whoever runs the program read the folder"}}
	}
	var findings []finding
	for _, f := range faults {
		findings = append(findings, finding{Check: "prompts", OK: !f.Fatal, Warn: !f.Fatal, Text: f.String(), Mend: f.Mend})
	}
	return findings
}
