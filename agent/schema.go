package agent

import (
	"encoding/json"

	"switchboard/agent/llm"
)

// PlanSchema is the strict schema of a planner's answer.
var PlanSchema = llm.Schema{Name: "plan", JSON: json.RawMessage(`{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "what is to be achieved, in one sentence"},
    "secrets": {
      "type": ["array", "null"],
      "description": "credentials the person typed; null when there are none",
      "items": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
        "required": ["key", "value"],
        "additionalProperties": false
      }
    },
    "tasks": {
      "type": "array",
      "description": "the steps in order; the last one is a msg",
      "items": {
        "type": "object",
        "properties": {
          "type": {"type": "string", "enum": ["exec", "msg", "tool"]},
          "detail": {"type": "string", "description": "exec: the shell command; tool: what it is for; msg: what to write, complete in itself"},
          "tool": {"type": ["string", "null"], "description": "tool: its name; otherwise null"},
          "args": {"type": ["string", "null"], "description": "tool: its arguments as JSON text; otherwise null"},
          "expect": {"type": ["string", "null"], "description": "exec and tool: what a good result looks like; msg: null"},
          "choices": {"type": ["array", "null"], "items": {"type": "string"}, "description": "msg that asks: at most 10 different answers to choose from, each of 1 to 64 characters; otherwise null"},
          "answer": {"type": ["string", "null"], "description": "last msg of a plan of messages only: the finished text; otherwise null"}
        },
        "required": ["type", "detail", "tool", "args", "expect", "choices", "answer"],
        "additionalProperties": false
      }
    }
  },
  "required": ["goal", "secrets", "tasks"],
  "additionalProperties": false
}`)}

// ReviewSchema is the strict schema of a reviewer's answer.
var ReviewSchema = llm.Schema{Name: "review", JSON: json.RawMessage(`{
  "type": "object",
  "properties": {
    "status": {"type": "string", "enum": ["ok", "replan"]},
    "reason": {"type": ["string", "null"], "description": "replan: why, in one sentence a person can read; ok: null"},
    "learn": {"type": ["string", "null"], "description": "something durable worth remembering; usually null"}
  },
  "required": ["status", "reason", "learn"],
  "additionalProperties": false
}`)}
