package transfer

import (
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

var exportScreen = shell.Screen{
	Under: "Flags",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/export": exportDefinitions},
}

// exportDefinitions sends the flags and cohorts of the project as a file.
func exportDefinitions(q *shell.Request) error {
	o := management.ExportOptions{Archived: q.Form.Get("archived") == "true", AsLists: q.Form.Get("as") == "lists"}
	document, err := q.Service.ExportDefinitions(q.Context(), q.By, q.Ref, o)
	if err != nil {
		return err
	}
	name := exportName(q.At.Project.Name)
	if o.AsLists {
		name += "-lists"
	}
	h := q.W.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+name+`.json"`)
	return q.Send(document)
}

// exportName returns the name of a project as the name of a file, which is ASCII.
func exportName(project string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return ' '
	}, project)
	if name = strings.Join(strings.Fields(name), "-"); name == "" {
		return "flags"
	}
	return name
}
