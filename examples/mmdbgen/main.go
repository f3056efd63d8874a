// Mmdbgen writes the City database that the tests of package geoip read. Its
// networks are reserved for documentation, its places are real, and each run
// writes the same bytes.
//
//	cd examples && go run ./mmdbgen ../testdata/geoip/test.mmdb
package main

import (
	"bytes"
	"log"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: mmdbgen file")
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}
