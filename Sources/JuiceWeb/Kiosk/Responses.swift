import NIOCore

/// A file of the page, embedded in the executable.
struct PageFile: Sendable {
    let path: String
    let type: String
    let bytes: ByteBuffer
    /// The entity tag, without quotation marks.
    let tag: String

    private init(_ path: String, _ type: String, _ bytes: [UInt8]) {
        (self.path, self.type, self.bytes, tag) = (path, type, ByteBuffer(bytes: bytes), bytes.fingerprint)
    }

    private static let scripts = [
        ("kiosk", PackageResources.kiosk_js), ("state", PackageResources.state_js), ("storage", PackageResources.storage_js),
        ("commands", PackageResources.commands_js), ("kinds", PackageResources.kinds_js), ("find", PackageResources.find_js),
        ("basket", PackageResources.basket_js),
        ("orders", PackageResources.orders_js), ("cards", PackageResources.cards_js), ("stock", PackageResources.stock_js),
        ("board", PackageResources.board_js), ("view", PackageResources.view_js), ("words", PackageResources.words_js),
        ("terminal", PackageResources.terminal_js), ("stream", PackageResources.stream_js),
        ("scanner", PackageResources.scanner_js),
    ]

    static let all =
        [
            PageFile("/", "text/html; charset=utf-8", PackageResources.index_html),
            PageFile("/kiosk.css", "text/css; charset=utf-8", PackageResources.kiosk_css),
            PageFile("/icon.svg", "image/svg+xml", PackageResources.icon_svg),
        ] + scripts.map { PageFile("/\($0).js", "text/javascript; charset=utf-8", $1) }
}

extension Sequence<UInt8> {
    /// The FNV-1a hash, in hexadecimal.
    var fingerprint: String {
        String(reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
    }
}
