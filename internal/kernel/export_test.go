package kernel

// Privileged lets tests see what a thread may do in a privileged call.
var Privileged = privileged
