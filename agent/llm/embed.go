package llm

import (
	"encoding/json"
	"fmt"
	"math"
)

// maxDimension bounds the length of a vector.
const maxDimension = 1 << 14

// toEmbed is the body of a request for vectors.
type toEmbed struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

// readVectors fills resp as read does, from an answer to a request for vectors.
func (p *provider) readVectors(resp *Response, w *wire, t target, req Request, m mode, most float64) error {
	var c struct {
		completion
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	err := json.Unmarshal(w.body, &c)
	s := answer{usage: c.usage(), fault: c.fault(), nothing: len(c.Data) == 0}
	resp.Usage = s.bill(t, len(resp.Exchange.Request), most)
	switch {
	case err != nil:
		return answerError("its vectors cannot be read: " + p.mask.Text(err.Error()))
	case len(s.fault) > 0:
		return p.said(s.fault, w, t, req, m)
	case len(c.Data) != len(req.Embed):
		return answerError(fmt.Sprintf("it made %d vectors of %d texts", len(c.Data), len(req.Embed)))
	}
	list := make([][]float32, len(c.Data))
	size := len(c.Data[0].Embedding)
	for _, d := range c.Data {
		if d.Index < 0 || d.Index >= len(list) || list[d.Index] != nil || len(d.Embedding) != size || size > maxDimension || !unit(d.Embedding) {
			return answerError("its vectors are none, or not of one length")
		}
		list[d.Index] = d.Embedding
	}
	resp.Vectors = list
	return nil
}

// unit makes the vector one of length 1; false: it has no direction.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return false
	}
	by := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= by
	}
	return true
}
