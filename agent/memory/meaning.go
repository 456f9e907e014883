package memory

import (
	"encoding/binary"
	"math"
)

// Unrelated are texts with which hardly a question has to do: how near they are to one shows how near a model takes everything to be.
var Unrelated = []string{
	"The ferry to the island leaves at noon from the second pier.",
	"Beat two eggs with sugar and flour until the dough is smooth.",
	"The committee adjourned after the vote on the new bylaws.",
	"Die Gesteinsprobe enthielt Spuren von Quarz und Feldspat.",
	"El equipo visitante empató en el último minuto del partido.",
	"Le violoncelle reprend le thème au début du second mouvement.",
}

// aboveUnrelated is how far on the way from what is unrelated to what is the same something has to be, to be found by its meaning.
const aboveUnrelated = 0.3

// Floor is how near a meaning has to be to that of a question, by the vectors of the question and of Unrelated; all have length 1.
func Floor(question []float32, unrelated [][]float32) float64 {
	var sum float64
	for _, v := range unrelated {
		sum += dot(v, question)
	}
	base := max(0, sum/float64(max(1, len(unrelated))))
	return base + aboveUnrelated*(1-base)
}

// scaleBytes is how many bytes a packed vector begins with: the scale of its numbers, as a float32, little endian.
const scaleBytes = 4

// Pack is a vector as it is kept and compared: each number is a signed byte, of a scale by which the largest is 127. That is a quarter of
// float32, and exact enough to find by.
func Pack(v []float32) []byte {
	var scale float32
	for _, x := range v {
		scale = max(scale, float32(math.Abs(float64(x)))/127)
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, scaleBytes+len(v)), math.Float32bits(scale))
	for _, x := range v {
		if scale > 0 {
			x /= scale
		}
		b = append(b, byte(int8(math.Round(float64(x)))))
	}
	return b
}

// Alike is how near two packed vectors of length 1 are, of 1; 0 if they are not as long as each other.
func Alike(a, b []byte) float64 {
	if len(a) != len(b) || len(a) < scaleBytes {
		return 0
	}
	scale := func(v []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(v))) }
	x, y := a[scaleBytes:], b[scaleBytes:]
	y = y[:len(x)]
	var one, other int32 // two sums, which a processor adds up at once
	i := 0
	for ; i+2 <= len(x); i += 2 {
		one += int32(int8(x[i])) * int32(int8(y[i]))
		other += int32(int8(x[i+1])) * int32(int8(y[i+1]))
	}
	for ; i < len(x); i++ {
		one += int32(int8(x[i])) * int32(int8(y[i]))
	}
	return float64(one+other) * scale(a) * scale(b)
}

// dot is how near two vectors of length 1 are, of 1.
func dot(a, b []float32) (sum float64) {
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
