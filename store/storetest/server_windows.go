package storetest

// start starts no server: here tests use the one in TEST_POSTGRES_DSN, or are skipped.
func start(string) (address string, err error) { return "", errNoBinaries }
