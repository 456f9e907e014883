package main

// staysUnstopped does nothing: no shell stops a process here.
func staysUnstopped() {}
