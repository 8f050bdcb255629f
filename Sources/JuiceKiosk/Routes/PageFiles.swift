import Hummingbird

/// The page's files, embedded in the executable.
enum PageFiles {
    struct File: Sendable {
        let path: String
        let type: String
        let bytes: ByteBuffer

        init(_ path: String, _ type: String, _ bytes: [UInt8]) {
            self.path = path
            self.type = type
            self.bytes = ByteBuffer(bytes: bytes)
        }
    }

    static let all = [
        File("/", "text/html; charset=utf-8", PackageResources.index_html),
        File("/kiosk.css", "text/css; charset=utf-8", PackageResources.kiosk_css),
        script("kiosk", PackageResources.kiosk_js),
        script("state", PackageResources.state_js),
        script("stream", PackageResources.stream_js),
        script("commands", PackageResources.commands_js),
        script("find", PackageResources.find_js),
        script("basket", PackageResources.basket_js),
        script("orders", PackageResources.orders_js),
        script("cards", PackageResources.cards_js),
        script("stock", PackageResources.stock_js),
        script("board", PackageResources.board_js),
        script("view", PackageResources.view_js),
        script("words", PackageResources.words_js),
        File("/icon.svg", "image/svg+xml", PackageResources.icon_svg),
    ]

    private static func script(_ name: String, _ bytes: [UInt8]) -> File {
        File("/\(name).js", "text/javascript; charset=utf-8", bytes)
    }

    /// Adds a route for each file. Another version may be running after a restart, so browsers must revalidate.
    static func add(to router: Router<KioskContext>) {
        for file in all {
            router.get(RouterPath(file.path)) { _, _ in
                Response(
                    status: .ok, headers: [.contentType: file.type, .cacheControl: "no-cache"],
                    body: ResponseBody(byteBuffer: file.bytes))
            }
        }
    }
}
