/// The id of a store, which is the key of every record about it: 1 to 128 bytes of UTF-8.
public enum StoreID {
    /// The store of records without a key.
    public static let main = "main"

    /// The longest id, in bytes.
    public static let maximumLength = 128

    /// The id in a record's key, valid as long as the key: ``main`` if there is no key or an empty one, `nil` if the key is
    /// too long or not UTF-8.
    public static func read(key: UnsafeRawBufferPointer?) -> BorrowedText? {
        guard let key, !key.isEmpty else { return BorrowedText("main") }
        guard key.count <= maximumLength, key.isUTF8 else { return nil }
        return BorrowedText(key)
    }
}
