package api

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// textSchema is a text in the OpenAPI document.
var textSchema = &huma.Schema{Type: huma.TypeString}

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// schemas are the bodies of a call in the OpenAPI document, by their media types.
type schemas map[string]*huma.Schema

// content is how the OpenAPI document writes them.
func (s schemas) content() map[string]*huma.MediaType {
	content := map[string]*huma.MediaType{}
	for mediaType, schema := range s {
		content[mediaType] = &huma.MediaType{Schema: schema}
	}
	return content
}

// A description says in the OpenAPI document what a call takes and gives.
type description struct {
	params []*huma.Param // those of the path are added where they are missing
	takes  schemas       // nil: no body
	gives  schemas       // nil: JSON
	about  string        // the answer
}

// describe adds a call to the OpenAPI document.
func (a *API) describe(c Call, d description) {
	op := a.operation(c)
	op.Middlewares, op.Parameters = nil, d.params
	for _, name := range inPath.FindAllStringSubmatch(c.Path, -1) {
		if !slices.ContainsFunc(d.params, func(p *huma.Param) bool { return p.Name == name[1] }) {
			op.Parameters = append(op.Parameters, param("path", name[1], ""))
		}
	}
	if d.takes != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: d.takes.content()}
	}
	if d.gives == nil {
		d.gives = schemas{"application/json": {}}
	}
	op.Responses = map[string]*huma.Response{
		strconv.Itoa(cmp.Or(c.Status, http.StatusOK)): {Description: cmp.Or(d.about, "The answer."), Content: d.gives.content()},
	}
	a.huma.OpenAPI().AddOperation(&op)
}

// param is a parameter that is a text; in: path, query or header.
func param(in, name, about string) *huma.Param {
	return &huma.Param{Name: name, In: in, Required: in == "path", Schema: textSchema, Description: about}
}

// schemaOf is the schema of T, which may be named in the document by hint.
func schemaOf[T any](a *API, hint string) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, hint)
}
