extern void run(void);
int main(void) {
    run();
    return 0;
}
