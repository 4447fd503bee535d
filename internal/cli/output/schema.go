package output

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"piton/internal/field"
	"piton/internal/group"
)

// Schema describes a type of JSON lines.
type Schema struct {
	// Family names lines that are printed together: by one command (topo; queues for piton irq queues),
	// by several (change) or by --headless. Two families may each have a type of the same name.
	Family     string
	Kind, Help string // Kind is the type of the lines
	Properties []Property
}

// Property is a name of a line and what it has.
type Property struct {
	Name, Help string
	Schema     map[string]any // JSON Schema, draft 2020-12
	Required   bool
}

// Name is the line's name among the definitions, "topo.cpu".
func (s *Schema) Name() string { return s.Family + "." + s.Kind }

// description is what the Schema of a list is made of.
type description struct {
	family, kind, help string
	columns            headed
}

// described are all lists; NewList adds them.
var described []description

// Schemas are the schemas of all lists.
func Schemas() []Schema { return group.Each(described, description.schema) }

func (d description) schema() Schema {
	s := Schema{Family: d.family, Kind: d.kind, Help: d.help}
	for i := range d.columns.width() {
		if h := d.columns.head(i); h.kind != 0 {
			s.Properties = append(s.Properties, Property{Name: h.id, Help: h.help, Schema: typeSchema(h.kind), Required: h.kind&Chosen == 0})
		}
	}
	return s
}

// Document is the JSON Schema of lines that are any of those described.
func Document(of []Schema) map[string]any {
	of = slices.SortedFunc(slices.Values(of), func(a, b Schema) int { return cmp.Compare(a.Name(), b.Name()) })
	defs, refs := map[string]any{}, []any{}
	for i := range of {
		defs[of[i].Name()] = of[i].definition()
		refs = append(refs, map[string]any{"$ref": "#/$defs/" + of[i].Name()})
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "JSON lines of piton", "anyOf": refs, "$defs": defs,
	}
}

func (s *Schema) definition() map[string]any {
	properties := map[string]any{"type": map[string]any{"const": s.Kind}, "v": map[string]any{"const": Version}}
	required := []string{"type", "v"}
	for _, p := range s.Properties {
		described := map[string]any{}
		maps.Copy(described, p.Schema)
		if p.Help != "" {
			described["description"] = p.Help
		}
		if properties[p.Name] = described; p.Required {
			required = append(required, p.Name)
		}
	}
	return map[string]any{"type": "object", "description": s.Help, "properties": properties, "required": required}
}

// typeSchema is the JSON Schema of a column's type.
func typeSchema(t field.Type) map[string]any {
	out := map[string]any{}
	var types []string
	for _, one := range []struct {
		bit  field.Type
		name string
	}{{Bool, "boolean"}, {Int, "integer"}, {Number, "number"}, {Text, "string"}, {Ints | Texts, "array"}, {Numbers, "object"}, {Null, "null"}} {
		if t&one.bit != 0 {
			types = append(types, one.name)
		}
	}
	switch {
	case t&Ints != 0:
		out["items"] = map[string]any{"type": []string{"integer", "null"}}
	case t&Texts != 0:
		out["items"] = map[string]any{"type": "string"}
	case t&Numbers != 0:
		out["additionalProperties"] = map[string]any{"type": "number"}
	}
	if out["type"] = types; len(types) == 1 {
		out["type"] = types[0]
	}
	return out
}

// OfStruct is the schema of lines that encoding/json writes from a struct.
func OfStruct(family, kind, help string, record any) Schema {
	s := Schema{Family: family, Kind: kind, Help: help}
	for _, p := range structProperties(reflect.TypeOf(record)) {
		if p.Name != "type" && p.Name != "v" {
			s.Properties = append(s.Properties, p)
		}
	}
	return s
}

func structProperties(t reflect.Type) (out []Property) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			out = append(out, structProperties(f.Type)...)
		case strings.Contains(options, "omitzero"): // null is promised too
			out = append(out, Property{Name: name, Schema: goSchema(reflect.PointerTo(f.Type))})
		default:
			out = append(out, Property{Name: name, Schema: goSchema(f.Type), Required: !strings.Contains(options, "omitempty")})
		}
	}
	return out
}

// goSchema is the JSON Schema of what encoding/json makes of a type.
func goSchema(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{goSchema(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": goSchema(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		for _, p := range structProperties(t) {
			if properties[p.Name] = p.Schema; p.Required {
				required = append(required, p.Name)
			}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}
