/* McCalpin's STREAM loops on one thread: reference REPS prints the best
 * bandwidth of copy, scale, add and triad in MB/s, and the last element of each
 * array. Arrays are static and their length, MIB at compile time, a constant, as
 * in stream.c. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define N (MIB << 17) /* doubles */
static double a[N], b[N], c[N];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	int reps = atoi(argv[1]), words[4] = {2, 2, 3, 3};
	double best[4] = {1e9, 1e9, 1e9, 1e9}, s = 3.0;
	for (long j = 0; j < N; j++) { a[j] = 1; b[j] = 2; c[j] = 0; }
	for (long j = 0; j < N; j++) a[j] = 2.0 * a[j];
	for (int k = 0; k < reps; k++) {
		double t[5];
		t[0] = now();
		for (long j = 0; j < N; j++) c[j] = a[j];
		t[1] = now();
		for (long j = 0; j < N; j++) b[j] = s * c[j];
		t[2] = now();
		for (long j = 0; j < N; j++) c[j] = a[j] + b[j];
		t[3] = now();
		for (long j = 0; j < N; j++) a[j] = b[j] + s * c[j];
		t[4] = now();
		for (int i = 0; i < 4 && k > 0; i++)
			if (t[i + 1] - t[i] < best[i]) best[i] = t[i + 1] - t[i];
	}
	for (int i = 0; i < 4; i++) printf("%.1f ", words[i] * 8.0 * N / best[i] / 1e6);
	printf("%.8g,%.8g,%.8g\n", a[N - 1], b[N - 1], c[N - 1]);
	return 0;
}
