-- A vector is kept as the scale of its numbers, a float32, little endian, and a signed byte each. Those of before are made again at rest.
DELETE FROM vectors;
