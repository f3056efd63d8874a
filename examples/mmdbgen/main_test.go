package main

import (
	"bytes"
	"os"
	"testing"
)

func TestCommittedFile(t *testing.T) {
	want, err := os.ReadFile("../../testdata/geoip/test.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // the maps of the records have no order
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatal("testdata/geoip/test.mmdb is not what mmdbgen makes: cd examples && go run ./mmdbgen ../testdata/geoip/test.mmdb")
		}
	}
}
