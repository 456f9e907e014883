//go:build !scripted

package main

func extraKinds() []kind { return nil }
