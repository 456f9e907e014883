package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"switchboard/channels"
	"switchboard/internal/api"
)

// The codes of errors, as https://www.jsonrpc.org/specification#error_object has them; rpcRefused is one that a server may choose.
const (
	rpcParse    = -32700
	rpcInvalid  = -32600
	rpcUnknown  = -32601
	rpcParams   = -32602
	rpcInternal = -32603
	rpcRefused  = -32000
)

// An rpcMessage is a message that is sent.
type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    *rpcRefusal `json:"data,omitempty"`
}

// An rpcRefusal is what the call is answered over HTTP.
type rpcRefusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Hint   string `json:"hint,omitempty"`
}

// An rpcEvent is an event of a session.
type rpcEvent struct {
	ID    int64  `json:"id,omitempty"` // 0: it has none
	Event string `json:"event"`
	Data  any    `json:"data"`
}

// send has a message sent. It waits while others wait to be; an error says that the socket ended.
func (s *socket) send(m rpcMessage) error {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case s.unsent <- text:
		return nil
	case <-s.ended:
		return errLeft
	}
}

// notify sends a notification.
func (s *socket) notify(method string, params any) error {
	return s.send(rpcMessage{Method: method, Params: params})
}

// answer sends the answer to a request; nil id: it was a notification, which gets none.
func (s *socket) answer(id, result json.RawMessage, fault *rpcError) error {
	if id == nil {
		return nil
	}
	return s.send(rpcMessage{ID: id, Result: result, Error: fault})
}

// Write and Ping implement Outlet: what is put is sent at once, and deliver pings.
func (s *socket) Write(puts func() error) error { return puts() }
func (s *socket) Ping() error                   { return nil }

// Put sends an event of a session.
func (s *socket) Put(e channels.SessionEvent) error {
	data, err := e.View()
	if err != nil {
		return err
	}
	return s.notify("event", rpcEvent{e.N, e.Kind, data})
}

// An rpcMethod is a call that a WebSocket may make.
type rpcMethod struct {
	method, path string
	params       []*huma.Param
	body         *huma.RequestBody // nil: it takes none
	ordered      bool              // it changes something: one that comes later waits for it
}

// An rpcCall is a call as it is made.
type rpcCall struct {
	api.Call
	ordered bool
}

// rpcMethods are the calls of a document that take and give JSON of a known form, by their ids. Those of OpenAI's clients are for these.
func rpcMethods(doc *huma.OpenAPI) map[string]rpcMethod {
	methods := map[string]rpcMethod{}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Patch, item.Put, item.Delete} {
			if op != nil && givesJSON(op) && (op.RequestBody == nil || op.RequestBody.Content["application/json"] != nil) && !slices.Contains(op.Tags, "openai") {
				// executeTool waits for its turn, which a call behind it may be there to cancel.
				methods[op.OperationID] = rpcMethod{op.Method, path, op.Parameters, op.RequestBody, op.Method != http.MethodGet && op.OperationID != "executeTool"}
			}
		}
	}
	return methods
}

func givesJSON(op *huma.Operation) (found bool) {
	for status, response := range op.Responses {
		for kind, content := range response.Content {
			if strings.HasPrefix(status, "2") {
				if schema := content.Schema; kind != "application/json" || schema == nil || schema.Ref == "" && schema.Type == "" {
					return false
				}
				found = true
			}
		}
	}
	return found
}

// decode reads a request. With a fault, id is what the fault is answered to.
func (s *socket) decode(text []byte) (id json.RawMessage, call rpcCall, fault *rpcError) {
	wrong := func(code int, message string) (json.RawMessage, rpcCall, *rpcError) {
		return id, rpcCall{}, &rpcError{Code: code, Message: message}
	}
	var in struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	id = json.RawMessage("null")
	switch {
	case !utf8.Valid(text) || !json.Valid(text):
		return wrong(rpcParse, "the message is not valid JSON")
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")):
		return wrong(rpcInvalid, "batches are not taken: send each request by itself")
	}
	err := json.Unmarshal(text, &in)
	if in.ID != nil && !strings.ContainsRune(`"-0123456789n`, rune(in.ID[0])) {
		return wrong(rpcInvalid, "id: it is neither a text nor a number")
	} else if in.ID != nil {
		id = in.ID
	}
	if err != nil || in.Version != "2.0" || in.Method == "" {
		return wrong(rpcInvalid, `the message is no request of JSON-RPC 2.0, such as {"jsonrpc": "2.0", "id": 1, "method": "whoami"}`)
	}
	id = in.ID
	method, there := s.methods[in.Method]
	if !there {
		return wrong(rpcUnknown, "there is no such method: the operation ids of GET /v1/openapi.json are the methods, except streams, files and OpenAI's calls")
	}
	params := map[string]json.RawMessage{}
	if in.Params != nil && (json.Unmarshal(in.Params, &params) != nil || params == nil) {
		return wrong(rpcParams, "params: it is no object with the parameters by name")
	}
	made, problem := method.call(params)
	if problem != "" {
		return wrong(rpcParams, problem)
	}
	return id, rpcCall{made, method.ordered}, nil
}

// call is the call with params; what is no parameter of its path, query or headers is the body's. problem says why there is none.
func (m *rpcMethod) call(params map[string]json.RawMessage) (call api.Call, problem string) {
	path, query := m.path, url.Values{}
	call.Method = m.method
	for _, p := range m.params {
		raw, there := params[p.Name]
		delete(params, p.Name)
		var value string
		switch {
		case !there && p.In == "path":
			return call, p.Name + ": it is missing"
		case !there:
			continue
		case strings.ContainsRune("-0123456789tf", rune(raw[0])): // a number, true or false
			value = string(raw)
		case json.Unmarshal(raw, &value) != nil || raw[0] != '"':
			return call, p.Name + ": it is no text, number, true or false"
		}
		switch {
		case p.In == "query":
			query.Set(p.Name, value)
		case p.In == "header" && p.Name == api.KeyHeader:
			call.Key = value
		case value == "" || value == "." || value == "..": // they would make it another path
			return call, p.Name + ": it is no name"
		default:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(value))
		}
	}
	call.Path = path + "?" + query.Encode()
	switch {
	case m.body == nil && len(params) > 0:
		for name := range params {
			problem = name + ": there is no such parameter"
		}
	case m.body != nil && (m.body.Required || len(params) > 0):
		call.Body = params
	}
	return call, problem
}
