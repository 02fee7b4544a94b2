on entering state null_written {
    print("NULL was written; the program will crash later")
    stop()
}
