package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pinned is an action at a commit, which nobody can move as a tag.
var pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)

// TestWorkflows: workflows have few rights, and what they run cannot be exchanged.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d workflows, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var workflow struct {
				Permissions map[string]string
				Jobs        map[string]struct {
					Timeout int `yaml:"timeout-minutes"`
					Steps   []struct{ Uses, Run string }
				}
			}
			if err := yaml.Unmarshal(b, &workflow); err != nil {
				t.Fatal(err)
			}
			if p := workflow.Permissions; len(p) != 1 || p["contents"] != "read" {
				t.Errorf("permissions %v, want contents: read for everything but the jobs that say more", p)
			}
			runs := false
			for name, job := range workflow.Jobs {
				if job.Timeout == 0 {
					t.Errorf("job %s has no timeout", name)
				}
				for _, s := range job.Steps {
					if s.Uses != "" && !pinned.MatchString(s.Uses) {
						t.Errorf("job %s uses %s, want a commit", name, s.Uses)
					}
					if strings.Contains(s.Run, "${{") {
						t.Errorf("job %s runs %q: values belong into the environment, or they are run too", name, s.Run)
					}
					program, _, _ := strings.Cut(s.Run, " ")
					if strings.HasPrefix(program, ".ci/") {
						runs = true
						if info, err := os.Stat(filepath.Join("../../..", program)); err != nil || info.Mode()&0o111 == 0 {
							t.Errorf("job %s runs %s, which is not a program: %v", name, program, err)
						}
					}
				}
			}
			if !runs {
				t.Error("it runs nothing in .ci")
			}
		})
	}
}

// TestPullRequests: before a change lands, everything is tested, and the modules are used
// as they will be released.
func TestPullRequests(t *testing.T) {
	b, err := os.ReadFile("../../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		On   map[string]any
		Jobs map[string]struct {
			If    string
			Steps []struct{ If, Run string }
		}
	}
	if err := yaml.Unmarshal(b, &workflow); err != nil {
		t.Fatal(err)
	}
	if _, ok := workflow.On["pull_request"]; !ok {
		t.Error("it does not run for pull requests")
	}
	runs := make(map[string]bool)
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			runs[s.Run] = runs[s.Run] || job.If == "" && s.If == ""
		}
	}
	for _, want := range []string{".ci/run", ".ci/run consume", ".ci/run release"} {
		if !runs[want] {
			t.Errorf("no job runs %s for every change", want)
		}
	}
}

// TestIssueForms: GitHub takes the forms. It ignores a form with a mistake.
func TestIssueForms(t *testing.T) {
	files, err := filepath.Glob("../../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "config.yml" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var form struct {
				Name, Description string
				Labels            []string
				Body              []struct {
					Type, ID    string
					Attributes  map[string]string
					Validations map[string]bool
				}
			}
			d := yaml.NewDecoder(strings.NewReader(string(b)))
			d.KnownFields(true)
			if err := d.Decode(&form); err != nil {
				t.Fatal(err)
			}
			if form.Name == "" || form.Description == "" {
				t.Error("a form needs a name and a description")
			}
			ids := make(map[string]bool)
			for _, field := range form.Body {
				switch field.Type {
				case "markdown":
					if field.Attributes["value"] == "" {
						t.Error("a text needs a value")
					}
				case "input", "textarea":
					if field.ID == "" || ids[field.ID] || field.Attributes["label"] == "" {
						t.Errorf("the field %q needs an id of its own and a label", field.ID)
					}
					ids[field.ID] = true
				default:
					t.Errorf("the type %q is not allowed", field.Type)
				}
			}
			if len(ids) == 0 {
				t.Error("a form needs a field")
			}
		})
	}
}
