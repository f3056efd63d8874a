package server_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

func Example() {
	// Definitions come from a file, a database, or as here from a string.
	definitions, err := flags.Decode(strings.NewReader(`{"flags":[
		{"id":1,"key":"new-checkout","active":true,"version":2,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":100}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	evaluator := new(flags.Evaluator)
	evaluator.Swap(snapshot) // later, too, whenever definitions change

	projects := new(server.Registry)
	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Flags: evaluator})
	s, err := server.New(server.Config{Projects: projects})
	if err != nil {
		log.Fatal(err)
	}

	// In a program: http.Server{Addr: …, Handler: s, ReadHeaderTimeout: …}.
	srv := httptest.NewServer(s)
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/flags?v=1", "application/json",
		strings.NewReader(`{"api_key":"phc_demo","distinct_id":"user-1","person_properties":{"plan":"pro"}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	answer, _, _ := strings.Cut(string(body), `,"requestId"`)
	fmt.Println(resp.Status, answer)
	// Output: 200 OK {"featureFlags":{"new-checkout":true},"featureFlagPayloads":{},"errorsWhileComputingFlags":false
}
