"""What is known by its name wherever it is written: technologies, organizations, places. Data.

A name stands once, with other spellings after `=`, and cases of these after `~`. Names that are words too (`Go`, `Spring`) are in `CASED`: they count only as
they are written here, and not where any word has a capital. Places are given with what Polish and German call them, and with the
Polish cases, since "w Warszawie" names Warszawa.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

_TECHNOLOGIES = """
Python, JavaScript = JS, TypeScript = TS, Java, Kotlin, Scala, Haskell, Erlang, Elixir, OCaml, Clojure, Fortran, COBOL, Perl, PHP, Ruby,
Ruby on Rails, C++ = CPP, C#, F#, Objective-C, WebAssembly = WASM, SQL, GraphQL, gRPC, HTML, CSS, LaTeX, Bash, PowerShell, Zsh, Lua, Nim,
Node.js = NodeJS, Deno, Next.js = NextJS, Nuxt, Vue.js = VueJS, Svelte, SvelteKit, AngularJS, jQuery, Webpack, Vite, ESLint, Prettier,
Tailwind CSS, Django, FastAPI, Pydantic, SQLAlchemy, Alembic, Celery, NumPy, PyTorch, TensorFlow, scikit-learn, JupyterLab, PyCharm,
pytest, mypy, pyright, Ruff, pip, npm, pnpm, Yarn, Gradle, Maven, Bazel, CMake, Laravel, Symfony, WordPress, Drupal, ASP.NET, .NET,
PostgreSQL = Postgres, MySQL, MariaDB, SQLite, MongoDB, Redis, Cassandra, CockroachDB, ClickHouse, DuckDB, Elasticsearch, OpenSearch, Neo4j,
DynamoDB, BigQuery, Snowflake DB, RocksDB, LevelDB, tantivy, Lucene, Qdrant, Pinecone, Weaviate, Milvus, pgvector, Supabase, Firebase,
Kafka, RabbitMQ, NATS, JetStream, MQTT, ZeroMQ, Docker, Docker Swarm, Docker Compose, Podman, Kubernetes = k8s, Helm, Terraform, Ansible,
Puppet, Vagrant, Jenkins, GitHub Actions, GitLab CI, CircleCI, Travis CI, ArgoCD = Argo CD, Prometheus, Grafana, Datadog, Kibana, Logstash,
OpenTelemetry, Nginx, HAProxy, Traefik, Envoy, Istio, Linux, Ubuntu, Debian, Fedora, Alpine Linux, macOS, Windows, Android, iOS, iPhone, iPad,
Git, GitHub, GitLab, Bitbucket, Jira, Confluence, Trello, Asana, Notion, Figma, Slack, Zoom, Microsoft Teams, Discord, Telegram, WhatsApp, Outlook,
Gmail, Google Docs, Google Drive, Dropbox, OneDrive, VSCode = VS Code = Visual Studio Code, Neovim, Vim, Emacs, IntelliJ = IntelliJ IDEA,
Xcode, Android Studio, Claude Code, ChatGPT, GPT-4, Copilot = GitHub Copilot, Ollama, LangChain, LlamaIndex, Hugging Face, OpenAPI, OAuth, SAML,
AWS, GCP = Google Cloud, Azure, Cloudflare, Vercel, Netlify, Heroku, Lambda Labs, Kubeflow, Airflow, Spark SQL, Hadoop, dbt, Tableau, Power BI,
Excel, PowerPoint, Photoshop, Blender, Unity3D, Godot, Arduino, Raspberry Pi, Home Assistant, JSON, YAML, TOML, XML, CSV, Protobuf,
MessagePack, WebSocket, HTTP/2, Ethereum, Bitcoin, Stripe API, Sentry, PagerDuty, Selenium, Playwright, Cypress, Storybook, Redux, Electron,
React Native, Flutter, SwiftUI, Jetpack Compose, Qt, OpenGL, CUDA, MLflow, Streamlit, Gradio, Pandas, Polars
"""
_CASED_TECHNOLOGIES = """
Go = Golang, Rust, Swift, Dart, React, Angular, Express, Spring, Spring Boot, Flask, Rails, Cursor, Windsurf, uv, Zig, Julia Lang, Vault, Consul,
Claude, Gemini, Obsidian, Evernote, Jupyter, Sublime Text, Apache, Ember, R Studio, Spark,
Snowflake, Chrome, Firefox
"""
_ORGANIZATIONS = """
Google, Microsoft, OpenAI, Anthropic, Netflix, Facebook, Nvidia, Intel, IBM, Oracle, Salesforce, SAP, Siemens, Bosch, BMW, Volkswagen, Audi,
Mercedes-Benz, Porsche, Deutsche Bahn, Deutsche Bank, Deutsche Telekom, Commerzbank, Lufthansa, Allianz, BASF, Bayer, Adidas, Zalando, Allegro,
CD Projekt, Orlen, PKO, mBank, PZU, Comarch, Asseco, LOT, InPost, Samsung, Sony, Toyota, Honda, Nintendo, Huawei, Xiaomi, Alibaba, Tencent, ByteDance,
TikTok, Twitter, LinkedIn, YouTube, Spotify, Airbnb, Tesla, SpaceX, NASA, PayPal, Revolut, Klarna, JPMorgan, Goldman Sachs, Deloitte, McKinsey,
Accenture, JetBrains, Red Hat, Canonical Ltd, Mozilla, Wikipedia, Reddit, Shopify, Walmart, IKEA, Starbucks, McDonald's, Coca-Cola, Pfizer, Novartis,
Harvard, Stanford, Oxford University, Cambridge University, UNESCO, UNICEF, WHO, Greenpeace, Red Cross, Pinterest, Snapchat, Goodreads
"""
_CASED_ORGANIZATIONS = """
Amazon, Apple, Meta, Uber, Lyft, Stripe, Boeing, Airbus, Ford, Visa, Mastercard, MIT, BBC, CNN, FBI, UN, EU,
NATO, UNHCR, ING, Vodafone, Lidl, Aldi, Rewe, Nike, Puma
"""
_PLACES = """
London = Londyn = ~Londynie = ~Londynu = ~Londynem, Paris = Paryż = ~Paryżu = ~Paryża, New York = New York City = Nowy Jork = ~Nowym Jorku, Berlin = ~Berlinie = ~Berlina,
Tokyo = Tokio, Seattle, San Francisco, Los Angeles, Chicago, Boston = ~Bostonie, Washington DC, Toronto, Vancouver, Montreal, Sydney, Melbourne, Singapore,
Beijing = Peking = Pekin, Shanghai = Szanghaj, Hong Kong, Seoul, Mumbai, Delhi, Bangalore, Dubai, Istanbul, Moscow = Moskau = Moskwa = ~Moskwie, Kyiv = Kijów = ~Kijowie,
Madrid = Madryt = ~Madrycie, Barcelona = ~Barcelonie, Lisbon = Lissabon = Lizbona = ~Lizbonie, Rome = Rom = Rzym = ~Rzymie = ~Rzymu, Milan = Mailand = Mediolan = ~Mediolanie,
Venice = Venedig = Wenecja, Florence Italy, Athens = Athen = Ateny = ~Atenach, Vienna = Wien = Wiedeń = ~Wiedniu = ~Wiednia, Zurich = Zürich = Zurych = ~Zurychu,
Geneva = Genf = Genewa = ~Genewie, Basel, Bern, Brussels = Brüssel = Bruksela = ~Brukseli, Amsterdam = ~Amsterdamie, Copenhagen = Kopenhagen = Kopenhaga,
Stockholm = Sztokholm, Oslo, Helsinki, Dublin, Edinburgh, Manchester, Liverpool, Glasgow, Oxford, Cambridge, Prague = Prag = Praga = ~Pradze, Budapest = Budapeszt,
Munich = München = Monachium, Hamburg = ~Hamburgu, Frankfurt = Frankfurt am Main, Cologne = Köln = Kolonia = ~Kolonii, Stuttgart, Düsseldorf, Leipzig = Lipsk, Dresden = Drezno,
Hannover, Nuremberg = Nürnberg, Bremen, Heidelberg, Freiburg, Karlsruhe, Dortmund, Essen Germany, Bonn, Potsdam, Innsbruck, Salzburg, Graz,
Warsaw = Warszawa = ~Warszawie = ~Warszawy = ~Warszawę = ~Warszawą = Warschau, Krakow = Kraków = ~Krakowie = ~Krakowa = Krakau, Gdansk = Gdańsk = ~Gdańsku = ~Gdańska = Danzig,
Wroclaw = Wrocław = ~Wrocławiu = ~Wrocławia = Breslau, Poznan = Poznań = ~Poznaniu = ~Poznania, Lodz = Łódź = ~Łodzi, Katowice = ~Katowicach = ~Katowic, Lublin = ~Lublinie = ~Lublina,
Szczecin = ~Szczecinie = ~Szczecina, Rzeszow = Rzeszów = ~Rzeszowie = ~Rzeszowa, Gdynia = ~Gdyni = ~Gdynię, Sopot = ~Sopocie = ~Sopotu, Torun = Toruń = ~Toruniu = ~Torunia,
Bydgoszcz = ~Bydgoszczy, Bialystok = Białystok = ~Białymstoku, Zakopane = ~Zakopanem = ~Zakopanego, Bratislava, Vilnius = Wilno = ~Wilnie, Riga, Tallinn, Lviv = Lwów = ~Lwowie,
Germany = Deutschland = Niemcy = ~Niemczech = ~Niemiec, Poland = Polen = Polska = ~Polsce = ~Polski = ~Polskę, France = Frankreich = Francja = ~Francji, Spain = Spanien = Hiszpania = ~Hiszpanii,
Italy = Italien = Włochy = ~Włoszech, Austria = Österreich = ~Austrii, Switzerland = Schweiz = Szwajcaria = ~Szwajcarii, England = Anglia = ~Anglii, Scotland = Schottland = Szkocja, Ireland = Irland = Irlandia = ~Irlandii,
Netherlands = Niederlande = Holandia = ~Holandii, Belgium = Belgien = Belgia = ~Belgii, Denmark = Dänemark = Dania = ~Danii, Sweden = Schweden = Szwecja = ~Szwecji, Norway = Norwegen = Norwegia = ~Norwegii,
Finland = Finnland = Finlandia = ~Finlandii, Portugal = Portugalia = ~Portugalii, Greece = Griechenland = Grecja = ~Grecji, Ukraine = Ukraina = ~Ukrainie, Czechia = Tschechien = Czechy = ~Czechach,
Slovakia = Slowakei = Słowacja, Hungary = Ungarn = Węgry, Romania = Rumänien = Rumunia, Croatia = Kroatien = Chorwacja = ~Chorwacji, Russia = Russland = Rosja = ~Rosji, Canada = Kanada = ~Kanadzie, Mexico = Mexiko = Meksyk,
Brazil = Brasilien = Brazylia, Argentina = Argentinien = Argentyna, Japan = Japonia = ~Japonii, India = Indien = Indie = ~Indiach, South Korea = Südkorea, Australia = Australien = ~Australii,
New Zealand = Neuseeland = Nowa Zelandia, South Africa = Südafrika, Egypt = Ägypten = Egipt = ~Egipcie, Israel = Izrael, Thailand = Tajlandia, Vietnam = Wietnam, Indonesia = Indonesien, United States = USA, United Kingdom = UK = Great Britain,
Europe = Europa = ~Europie, Asia = Asien = Azja, Africa = Afrika = Afryka, California = Kalifornien, Texas, Florida, Hawaii, Colorado, Alaska, Bavaria = Bayern = Bawaria, Silesia = Śląsk, Lake Louise, Grand Canyon, Yellowstone, Bali
"""
_WORDS_TOO = """
notion slack zoom excel helm yarn puppet celery maven ruff windows outlook kafka confluence discord telegram blender cypress storybook electron
flutter pandas polars asana sentry envoy ruby intel audi bayer lot python java perl lua nats git nim vim pip azure copilot elixir scala tableau
streamlit canonical reddit oracle bash selenium playwright podman vagrant gmail android linux snowflake asana sap who pko vite less dbt qt nasa
"""
_VERBS = frozenset(
    (
        "go",
        "express",
        "react",
        "spring",
        "rust",
        "swift",
        "cursor",
        "apple",
        "target",
        "meta",
        "vault",
        "claude",
        "flask",
        "ember",
    )
)
_BOTH = """
Paris, Florence, Charlotte, Austin, Jordan, Chelsea, Brooklyn, Savannah, Victoria, Georgia, Virginia, Carolina, Israel, Sydney, Dallas, Madison, Lincoln, Jackson
"""


class Entry(msgspec.Struct, frozen=True):
    """A name of the lexicon."""

    name: str
    others: tuple[str, ...] = ()
    """What else it is called."""
    cases: tuple[tuple[str, str], ...] = ()
    """Forms in which one of its names is written, each with that name."""
    cased: bool = False
    """Whether it counts only as it is written here."""


def technologies() -> Iterator[Entry]:
    """Yield the technologies."""
    yield from _read(_TECHNOLOGIES, cased=False)
    yield from _read(_CASED_TECHNOLOGIES, cased=True)


def organizations() -> Iterator[Entry]:
    """Yield the organizations."""
    yield from _read(_ORGANIZATIONS, cased=True)
    yield from _read(_CASED_ORGANIZATIONS, cased=True)


def places() -> Iterator[Entry]:
    """Yield the places; all of them are written with a capital."""
    yield from _read(_PLACES, cased=True)


def places_and_people() -> frozenset[str]:
    """Return names of places, lower-case, that are first names too."""
    return frozenset(entry.name.lower() for entry in _read(_BOTH, cased=True))


def is_cased(name: str) -> bool:
    """Say whether a name is a word too, so that it counts only as it is written here."""
    return name.lower() in _too()


def is_doubtful(name: str) -> bool:
    """Say whether a name says nothing at the beginning of a sentence, where its word would have a capital too."""
    return name.lower() in _VERBS


@lru_cache(maxsize=1)
def _too() -> frozenset[str]:
    return frozenset(_WORDS_TOO.split())


def _read(text: str, *, cased: bool) -> Iterator[Entry]:
    for line in text.replace("\n", " ").split(","):
        names: list[str] = []
        cases: list[tuple[str, str]] = []
        for word in filter(None, (name.strip() for name in line.split(" = "))):
            if word.startswith("~"):
                cases.append((word[1:], names[-1]))
            else:
                names.append(word)
        if names:
            yield Entry(names[0], tuple(names[1:]), tuple(cases), cased or is_cased(names[0]))
