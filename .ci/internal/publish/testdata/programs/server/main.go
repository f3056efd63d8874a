package main

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

func main() {
	projects := new(server.Registry)
	projects.Set("phc_demo", &server.Project{ID: 1, Name: "Demo", Flags: new(flags.Evaluator)})
	s, err := server.New(server.Config{Projects: projects})
	fmt.Println(err)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest("POST", "/flags?v=2", strings.NewReader(`{"api_key": "phc_demo", "distinct_id": "user-1"}`)))
	fmt.Println(answer.Code)
}

// Output:
// <nil>
// 200
