/// Bytes at a fixed address, for records that are handed out as views.
package final class StableBytes {
    package let view: UnsafeRawBufferPointer

    package init(_ bytes: some Collection<UInt8>) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        buffer.copyBytes(from: bytes)
        view = UnsafeRawBufferPointer(rebasing: buffer[..<bytes.count])
    }

    package convenience init(_ text: String) { self.init(Array(text.utf8)) }

    package var bytes: [UInt8] { Array(view) }

    deinit { view.baseAddress?.deallocate() }
}
