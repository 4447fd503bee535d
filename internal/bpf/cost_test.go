package bpf

import "fmt"

func playCost(string) error { return fmt.Errorf("later") }
